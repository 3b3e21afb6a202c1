"""Translation of the properties of ``AWS::S3::Bucket``."""

from __future__ import annotations

from typing import Any

import pytest

from heat_convergence.resources.aws.buckets import Bucket
from tests.installed_types import REGISTRY

BUCKET = REGISTRY.get("AWS::S3::Bucket")


def translate(**properties: Any) -> dict[str, Any]:
    assert isinstance(BUCKET, Bucket)
    return BUCKET.translate(properties, "p")


@pytest.mark.parametrize(
    ("access", "headers"),
    [
        (None, {}),
        ("Private", {}),
        ("PublicRead", {"X-Container-Read": ".r:*"}),
        ("PublicReadWrite", {"X-Container-Read": ".r:*", "X-Container-Write": ".r:*"}),
        ("AuthenticatedRead", {"X-Container-Read": "p"}),
        ("BucketOwnerFullControl", {}),
    ],
)
def test_access_becomes_headers(access: str | None, headers: dict[str, str]) -> None:
    assert translate(AccessControl=access) == {**headers, "X-Container-Meta": {}}


def test_pages_and_tags_become_metadata() -> None:
    website = {"IndexDocument": "i.html", "ErrorDocument": "e.html"}
    found = translate(WebsiteConfiguration=website, Tags=[{"Key": "k", "Value": "v"}])
    expected = {"Web-Index": "i.html", "Web-Error": "e.html", "S3-Tag-k": "v"}
    assert found == {"X-Container-Meta": expected}
