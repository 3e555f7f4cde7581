"""The node over datasets where there is nothing.

What it finds and leaves out is tested with ``losslab.reporting.saved_results``.
"""

from losslab.pipelines.meta_analysis import nodes


def test_without_reports_the_table_is_empty_and_it_is_told(tmp_path, caplog):
    assert nodes.combine_datasets(tmp_path).empty
    assert "no reports yet: kedro run makes one" in caplog.messages
