"""Random documents are read as they were written."""

from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st

from heat_convergence.template.parsing.document_loader import load_document

STORABLE = st.characters(exclude_characters="\0", exclude_categories=["Cs"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.text(STORABLE, max_size=12),
    lambda children: (
        st.lists(children, max_size=4)
        | st.dictionaries(st.text(STORABLE, max_size=6), children, max_size=4)
    ),
    max_leaves=20,
)


@given(JSON)
def test_loader_reads_everything_that_yaml_writes(data: Any) -> None:
    assert load_document(yaml.safe_dump({"k": data})).data == {"k": data}


@given(JSON)
def test_plain_maps_are_not_copied(data: Any) -> None:
    source = {"k": data}
    assert load_document(source).data is source
