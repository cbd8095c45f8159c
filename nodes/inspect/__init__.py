"""The full-screen inspector of `hotseat inspect`.

`model` holds what is looked at, `panels` and `graph_lines` write it as lines; only
`app` and `screens` know the terminal.
"""
