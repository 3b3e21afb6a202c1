"""``heat-convergence demo``: create, update, repair and delete an example stack.

An ordinary client: it uses the REST API through python-heatclient, of a service in another
process. In the middle of the update it kills that process, and shows what its cloud has created
twice. Decides the steps; ``display`` decides how they are shown.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from heatclient.client import Client
from heatclient.common import template_utils
from keystoneauth1.noauth import NoAuth
from keystoneauth1.session import Session

from heat_convergence.cli.demo.cloud_account import CloudAccount
from heat_convergence.cli.demo.cloud_resource import DemoResource
from heat_convergence.cli.demo.display import DemoDisplay
from heat_convergence.cli.demo.service_process import (
    DemoService,
    ServiceStartError,
    run_standalone_service,
)
from heat_convergence.cli.demo.stack_progress import StackProgress

STACK_NAME = "demo"
DRIFTED_RESOURCES = ("web_2", "database")  # deleted, and changed, by others
_CONNECT_RETRIES = 5  # of a client whose server is killed
# Types of the example that stand for things of a cloud are files, which the demo can count. What
# others change is repaired.
ENVIRONMENT = {
    "resource_registry": {
        "OS::Heat::TestResource": DemoResource.name,
        "resources": {"*": {"drift": {"policy": "repair"}}},
    }
}
_PACKAGE = Path(__file__).resolve().parents[2]


def main(arguments: Sequence[str]) -> int:
    """Run the demo, and return its exit code."""
    parser = argparse.ArgumentParser(
        prog="heat-convergence demo",
        description="Start the standalone service, create a stack from an example template, kill "
        "the service during an update, let it repair what others have changed, and delete the "
        "stack. Nothing is left behind.",
    )
    parser.add_argument(
        "--template", default=str(example_path("shop.yaml")), help=argparse.SUPPRESS
    )
    parsed = parser.parse_args(arguments)
    display = DemoDisplay()
    try:
        display.print_line(
            "Starting the service: SQLite, in-process transport, this machine only ..."
        )
        with run_standalone_service() as service:
            display.print_line(f"Endpoint: {service.endpoint}")
            display.print_line(f"Console: {service.endpoint.partition('/v1/')[0]}/console")
            return Demo(service, display, Path(parsed.template)).run()
    except ServiceStartError as error:
        print(f"The service did not start:\n{error}", file=sys.stderr)
    except KeyboardInterrupt:
        display.print_line("\nInterrupted. The service and the stack have been removed.")
    return 1


def example_path(name: str) -> Path:
    """Return the path of an example: in the installed package, else in the checkout."""
    installed = _PACKAGE / "examples" / name
    return installed if installed.is_file() else _PACKAGE.parent / "examples" / name


class Demo:
    """The steps of the demo against one service."""

    def __init__(self, service: DemoService, display: DemoDisplay, template: Path) -> None:
        session = Session(auth=NoAuth(endpoint=service.endpoint))
        self._heat = Client("1", session=session, connect_retries=_CONNECT_RETRIES)
        self._service = service
        self._cloud = CloudAccount(service.cloud_folder)
        self._display = display
        self._progress = StackProgress(self._heat, display, STACK_NAME)
        self._files, self._template = template_utils.get_template_contents(str(template))

    def run(self) -> int:
        """Run all steps, and return the exit code: 0 when every one succeeded."""
        steps: tuple[Callable[[], bool], ...] = (
            *(self._create, self._update, self._count, self._repair, self._count, self._delete),
        )
        return 0 if all(step() for step in steps) else 1

    def _create(self) -> bool:
        count = len(self._template["resources"])
        self._display.print_heading(
            f"Create: {count} resources, each as soon as its dependencies are ready"
        )
        self._heat.stacks.create(
            stack_name=STACK_NAME,
            template=self._template,
            files=self._files,
            environment=ENVIRONMENT,
            parameters={},
        )
        if not self._progress.watch("CREATE"):
            return False
        self._display.print_heading("Dependency graph")
        self._display.print_graph(self._progress.requirements())
        self._show_outputs()
        return True

    def _update(self) -> bool:
        before, kept = self._progress.incarnations(), self._progress.states()
        self._display.print_heading(
            "Update: the parameter release becomes 1.1, and the service is killed meanwhile"
        )
        last_creation = self._cloud.last_creation()
        self._heat.stacks.update(STACK_NAME, existing=True, parameters={"release": "1.1"})
        self._crash(last_creation)
        if not self._progress.watch("UPDATE", kept=kept):
            return False
        after = self._progress.incarnations()
        replaced = sorted(n for n in after if after[n][0] != before[n][0])
        updated = sorted(n for n in after if after[n] != before[n] and n not in replaced)
        untouched = sorted(set(after) - set(updated) - set(replaced))
        self._display.print_heading("Changed resources")
        self._display.print_pairs(
            {
                f"{len(updated)} updated": ", ".join(updated),
                f"{len(replaced)} replaced": ", ".join(replaced),
                f"{len(untouched)} untouched": ", ".join(untouched),
            }
        )
        self._show_outputs()
        return True

    def _crash(self, last_creation: str) -> None:
        """Kill the service when the cloud has created something and not answered yet."""
        created = self._cloud.wait_for_creation(last_creation)
        killed_at = time.monotonic()
        killed = self._service.kill_worker()
        self._display.print_note(
            f"Process {killed} is killed (SIGKILL): API, engine and observer are gone."
        )
        if created is not None:
            self._display.print_note(f"The cloud has just created {created}; its answer is lost.")
        follower = self._service.wait_for_worker(killed)
        elapsed_s = time.monotonic() - killed_at
        self._display.print_note(f"Process {follower} serves the API after {elapsed_s:.1f} s.")

    def _count(self) -> bool:
        """Show what the cloud has created; nothing may be there twice or without a stack."""
        self._display.print_heading("The account of the cloud")
        used = {physical_id for physical_id, _status in self._progress.states().values()}
        found = self._cloud.summarize(used)
        self._display.print_pairs(
            {
                "created": found.created,
                "created twice": ", ".join(found.twice) or "nothing",
                "left over": ", ".join(found.left_over) or "nothing",
            }
        )
        return not found.twice and not found.left_over

    def _repair(self) -> bool:
        deleted, changed = DRIFTED_RESOURCES
        kept = self._progress.states()
        if deleted not in kept or changed not in kept:
            return True  # another template
        self._display.print_heading(
            f"Drift: somebody deletes {deleted} and changes {changed}, past the service"
        )
        deleted_id, changed_id = kept[deleted][0], kept[changed][0]
        value = self._cloud.value_of(changed_id)
        self._cloud.delete(deleted_id)
        self._cloud.change(changed_id, "changed by others")

        def is_repaired() -> bool:
            new_id = self._progress.states()[deleted][0]
            is_created = new_id != deleted_id and self._cloud.value_of(new_id) is not None
            return is_created and self._cloud.value_of(changed_id) == value

        return self._progress.watch_until(is_repaired, "UPDATE", kept=kept)

    def _delete(self) -> bool:
        self._display.print_heading("Delete: each resource as soon as no other requires it")
        identifier = self._heat.stacks.get(STACK_NAME).id
        self._heat.stacks.delete(STACK_NAME)
        if not self._progress.watch("DELETE", identifier=identifier):
            return False
        left = [stack.stack_name for stack in self._heat.stacks.list()]
        left += self._cloud.summarize(()).left_over
        self._display.print_line(
            f"  Left of stacks and in the cloud: {', '.join(left) or 'nothing'}"
        )
        return not left

    def _show_outputs(self) -> None:
        self._display.print_heading("Outputs")
        outputs = self._heat.stacks.get(STACK_NAME).outputs
        self._display.print_pairs({item["output_key"]: item["output_value"] for item in outputs})
