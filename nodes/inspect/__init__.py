"""The full-screen inspector of `hotseat inspect`.

`model` holds what is looked at, `panels` and `graph_lines` write it as lines, `feed`
brings the log of a match out of a cluster; only `app` and `screens` know the terminal.
"""
