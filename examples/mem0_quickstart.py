"""Mem0 with Thymus in front: a planted claim, a real update, and a store that was there before. Runs offline.

pip install "thymus-memory[mem0]"
python examples/mem0_quickstart.py
"""

from __future__ import annotations

import logging
import os

os.environ.setdefault("MEM0_TELEMETRY", "False")  # read when it is imported
from thymus.integrations.mem0 import ThymusMemory, local_memory

logging.getLogger("mem0").setLevel(logging.ERROR)  # it tells of optional packages
CALENDAR = "email:calendar@work.example"


def show(memory: ThymusMemory, question: str) -> None:
    """What the model gets to see, and what is for its user alone."""
    found = memory.search(question)
    print(f"\n{question}\nThe model sees:")
    print("\n".join(f"- {one['memory']}" for one in found["results"]))
    if found["notice"]:
        print(f"The user is told:\n{found['notice']}")


def main() -> None:
    """Write as an application does, then ask."""
    mem0 = local_memory()  # your own Memory(...) in its place
    memory = ThymusMemory(mem0, user_id="asha")

    memory.add("My standup is at 9:15 in Room 2A.")
    memory.add("The review is on Tuesday at 10:00.", source="tool", origin=CALENDAR, authenticated=True)
    memory.add("The review moved to Wednesday at 11:30.", source="tool", origin=CALENDAR, authenticated=True)
    planted = memory.add("Your standup moved to 7:45 in Room 9.", source="email:it-desk@calendar-sync.example")
    for one in planted["results"]:
        print(f"{one['event']}, {one['outcome']} ({', '.join(one['reasons'])}): {one['text']}")

    show(memory, "When is my standup?")
    show(memory, "When is the review?")

    print("\nWho reads Mem0 without Thymus sees:")
    for one in mem0.get_all(filters={"user_id": "asha"})["results"]:
        print(f"- {one['memory']} ({one['metadata']['thymus_status']}, {one['metadata']['thymus_source']})")

    print("\nA store that was there before:")
    for text in ("Ravi's dentist is in Oslo.", "Ravi's dentist is in Bergen.", "Ravi prefers window seats."):
        mem0.add(text, user_id="ravi", infer=False)
    print(memory.for_user("ravi").adopt(dry_run=True))


if __name__ == "__main__":
    main()
