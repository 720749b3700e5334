"""What the page may ask for: every body of a request as a model, so that anything else is refused in one line."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from legogcd.edits.edit import Text

MOST_IMAGES = 1_000_000  # ids in one request; the bound on bytes is reached first
Ids = Annotated[list[Annotated[int, Field(ge=0, strict=True)]], Field(max_length=MOST_IMAGES)]
Groups = Annotated[list[Text], Field(max_length=10_000)]


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid")


class NameGroup(_Request):
    """The group is called ``name`` from now on; images of it that the person looked at are confirmed with it."""

    edit: Literal["name"]
    group: Text
    name: Text
    confirm: Ids = []


class MergeGroups(_Request):
    """All images of ``groups`` go to ``into``; images of them that the person looked at are confirmed with it."""

    edit: Literal["merge"]
    into: Text
    groups: Groups
    confirm: Ids = []


class SplitGroup(_Request):
    """Each of ``parts`` becomes a group of its own; where they are the whole group, the first keeps its name."""

    edit: Literal["split"]
    group: Text
    parts: list[Ids]


class MoveImages(_Request):
    """Images go to a group by its name, a new name too; None is a new group without one."""

    edit: Literal["move"]
    images: Ids
    into: Text | None = None


class _GroupsOrImages(_Request):
    groups: Groups = []
    images: Ids = []

    @model_validator(mode="after")
    def _some(self) -> "_GroupsOrImages":
        if not self.groups and not self.images:
            raise ValueError("give groups or images")
        return self


class ConfirmThem(_GroupsOrImages):
    """Groups or images are right as they are."""

    edit: Literal["confirm"]


class SetAside(_GroupsOrImages):
    """Groups or images show nothing of the collection."""

    edit: Literal["aside"]


Wish = Annotated[
    NameGroup | MergeGroups | SplitGroup | MoveImages | ConfirmThem | SetAside, Field(discriminator="edit")
]


class EditRequest(_Request):
    """An edit, how many edits the page had seen, and images that were clicked out: not what their group is."""

    version: Annotated[int, Field(ge=0, strict=True)]
    edit: Wish
    out: Ids = []


class BackRequest(_Request):
    """Undo or redo; with ``version`` only if nobody else edited since."""

    version: Annotated[int, Field(ge=0, strict=True)] | None = None


class ImportRequest(_Request):
    """A file of another tool: its name, and what is in it."""

    name: Annotated[str, Field(max_length=300)]
    text: Text


class RoundRequest(_Request):
    """The next round; None leaves the number of epochs to the recipe."""

    epochs: Annotated[int, Field(ge=1, le=10_000, strict=True)] | None = None


class NoFields(_Request):
    """An empty object."""
