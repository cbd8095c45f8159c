"""Schemas that manifests are checked against."""
