"""Kedro pipelines: glue between the catalog and the library packages."""
