"""The paper's data sets, splits, tables and figures."""
