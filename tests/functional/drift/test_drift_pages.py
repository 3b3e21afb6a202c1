"""Pages of the drift of a project."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

from tests.functional.drift.drift_cases import watch
from tests.functional.openstack_types.emulated_service import create_stack

COUNT = 5


def renamed_networks(service, cloud) -> None:
    """Create a stack whose networks others have renamed."""
    network = {"type": "OS::Neutron::Net", "properties": {"name": "ours"}}
    resources = {f"net{number}": network for number in range(COUNT)}
    create_stack(service, {"heat_template_version": "2016-10-14", "resources": resources})
    for each in cloud.bodies("neutron.network"):
        if each["name"] == "ours":
            each["name"] = "other"
    watch(service)


def read_pages(service, query: str) -> list[list[str]]:
    """Follow the links and return the ids of each page."""
    path, pages = f"/drift?{query}", []
    while path:
        answer = service.send("GET", path)
        assert answer.status_int == 200, answer.text
        pages.append([each["resource_id"] for each in answer.json["resources"]])
        links = answer.json.get("links", [])
        assert [each["rel"] for each in links] in ([], ["next"])
        path = links[0]["href"].partition("/v1/p")[2] if links else ""
    return pages


def test_links_lead_through_all_pages(service, emulated_cloud):
    renamed_networks(service, emulated_cloud)
    every = [each["resource_id"] for each in service.send("GET", "/drift").json["resources"]]
    assert len(every) == COUNT
    pages = read_pages(service, "limit=2&status=MODIFIED&status=DELETED")
    assert [len(page) for page in pages] == [2, 2, 1]
    assert [key for page in pages for key in page] == every


def test_link_keeps_the_rest_of_the_query(service, emulated_cloud):
    renamed_networks(service, emulated_cloud)
    answer = service.send("GET", "/drift?limit=2&status=MODIFIED&status=DELETED").json
    (link,) = answer["links"]
    assert parse_qs(urlsplit(link["href"]).query) == {
        "limit": ["2"],
        "status": ["MODIFIED", "DELETED"],
        "marker": [answer["resources"][-1]["resource_id"]],
    }


def test_whole_list_and_empty_page_have_no_link(service, emulated_cloud):
    renamed_networks(service, emulated_cloud)
    for query in ("status=MODIFIED", "limit=0", "limit=9", "limit=2&status=DELETED"):
        assert "links" not in service.send("GET", f"/drift?{query}").json


def test_damaged_row_does_not_end_the_pages(service, emulated_cloud):
    renamed_networks(service, emulated_cloud)
    every = [each["resource_id"] for each in service.send("GET", "/drift").json["resources"]]
    with service.database.write() as connection:
        connection.exec_driver_sql(
            "UPDATE observation SET since = 'x' WHERE resource_id = ?", (every[1],)
        )
    found = [key for page in read_pages(service, "limit=2") for key in page]
    assert found == [key for key in every if key != every[1]]
