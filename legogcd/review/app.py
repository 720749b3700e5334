"""The server's paths. Everything is JSON but pictures, the map's numbers and the page's own files."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response, StreamingResponse
from starlette.exceptions import HTTPException

from legogcd.edits.edit import Redo, Undo
from legogcd.errors import UnreadableImage, UserError
from legogcd.review.insight import NotReady
from legogcd.review.pictures import original
from legogcd.review.requests import BackRequest, EditRequest, ImportRequest, NoFields, RoundRequest
from legogcd.review.session import Session
from legogcd.review.workspace import ChangedMeanwhile, NameTaken
from legogcd.web import served_files

_PICTURE_FOR = "private, max-age=86400"


class Json(Response):
    """JSON in ASCII: names may hold lone surrogates, which UTF-8 cannot."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return json.dumps(content, separators=(",", ":"), allow_nan=False).encode()


def build_app(session: Session) -> FastAPI:
    """The app for one session; `legogcd.review.guard.Guard` goes around it."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        session.start()
        yield
        session.stop()

    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, default_response_class=Json, lifespan=lifespan)
    _add_errors(app)
    _add_reading(app, session)
    _add_pictures(app, session)
    _add_editing(app, session)
    _add_rounds(app, session)

    _add_page(app)
    return app


def _add_page(app: FastAPI) -> None:
    """The page's own files: a fixed list, so that no path from the browser is ever opened."""

    @app.get("/{path:path}", include_in_schema=False)
    def file(path: str) -> Response:
        found = served_files().get(f"/{path}" if path else "/static/index.html")
        if found is None:
            raise HTTPException(404, "there is no such page")
        return Response(found.content, media_type=found.media_type, headers={"cache-control": "no-cache"})


def _add_errors(app: FastAPI) -> None:
    statuses: dict[type[Exception], int] = {NotReady: 503, UnreadableImage: 404, UserError: 422}
    for kind, status in statuses.items():
        app.add_exception_handler(kind, _answering(status))

    @app.exception_handler(NameTaken)
    def taken(_: Request, error: NameTaken) -> Json:
        return Json({"error": str(error), "taken": error.group}, 422)

    @app.exception_handler(RequestValidationError)
    def wrong(_: Request, error: RequestValidationError) -> Json:
        first = error.errors()[0]
        where = " ".join(str(part) for part in first["loc"][1:])
        return Json({"error": f"{where}: {first['msg']}" if where else first["msg"]}, 422)

    @app.exception_handler(HTTPException)
    def refused(_: Request, error: HTTPException) -> Json:
        return Json({"error": str(error.detail)}, error.status_code)

    @app.exception_handler(Exception)
    def broken(_: Request, error: Exception) -> Json:
        return Json({"error": f"something went wrong ({type(error).__name__}); nothing that was answered is lost"}, 500)


def _answering(status: int) -> Callable[[Request, Exception], Json]:
    def answer(_: Request, error: Exception) -> Json:
        return Json({"error": " ".join(str(error).split())}, status)

    return answer


def _add_reading(app: FastAPI, session: Session) -> None:
    @app.get("/api/state")
    def state() -> Json:
        return Json(_state(session))

    @app.get("/api/order")
    def order(group: str) -> Json:
        return Json(session.desk.answers.order(group))

    @app.get("/api/images")
    def images(ids: str) -> Json:
        return Json(session.desk.answers.images(_ids(ids)))

    @app.get("/api/columns")
    def columns() -> Json:
        return Json(session.desk.answers.columns())

    @app.get("/api/map")
    def map_() -> Response:
        return Response(session.desk.answers.map_bytes(), media_type="application/octet-stream")

    @app.get("/api/similar")
    def similar(ids: str, count: Annotated[int, Query(ge=1, le=5000)] = 100) -> Json:
        return Json(session.desk.answers.similar(_ids(ids), count))

    @app.get("/api/proposals")
    def proposals(group: str, parts: Annotated[int | None, Query(ge=2, le=20)] = None) -> Json:
        return Json(session.desk.answers.proposals(group, parts))

    @app.get("/api/queue")
    def queue(count: Annotated[int, Query(ge=1, le=500)] = 50) -> Json:
        return Json(session.desk.answers.queue(count))

    @app.get("/api/events")
    async def events() -> StreamingResponse:
        return StreamingResponse(session.events.listen(session.first_event()), media_type="text/event-stream")


def _add_pictures(app: FastAPI, session: Session) -> None:
    @app.get("/thumb/{number}")
    def thumb(number: int) -> Response:
        desk = session.desk
        picture = desk.pictures.get(desk.workspace.checked(number))
        return Response(picture, media_type="image/webp", headers={"cache-control": _PICTURE_FOR})

    @app.get("/image/{number}")
    def image(number: int) -> Response:
        work = session.desk.workspace
        content, kind = original(work.files.item(work.checked(number)))
        return Response(content, media_type=kind, headers={"cache-control": _PICTURE_FOR})


def _add_editing(app: FastAPI, session: Session) -> None:
    def answered(do: Callable[[], str]) -> Json:
        """Do something that changes the run; what it changed is on the disk before the answer."""
        try:
            done = do()
        except ChangedMeanwhile as error:
            return Json({"error": str(error), "state": _state(session)}, 409)
        session.tell_version()
        state = _state(session)
        return Json({"version": state["version"], "done": done, "state": state})

    @app.post("/api/edits")
    def edits(given: EditRequest) -> Json:
        desk = session.desk
        desk.workspace.paths(given.out)  # ids of no image are refused before anything is done

        def do() -> str:
            done = desk.workspace.edit(given.edit, given.version)
            desk.answers.click_out(given.out)
            return done

        return answered(do)

    @app.post("/api/undo")
    def undo(given: BackRequest) -> Json:
        return answered(lambda: session.desk.workspace.back(Undo(), given.version))

    @app.post("/api/redo")
    def redo(given: BackRequest) -> Json:
        return answered(lambda: session.desk.workspace.back(Redo(), given.version))

    @app.post("/api/import")
    def import_(given: ImportRequest) -> Json:
        return answered(lambda: session.desk.workspace.import_text(given.name, given.text))


def _add_rounds(app: FastAPI, session: Session) -> None:
    @app.get("/api/round")
    def round_() -> Json:
        return Json(session.desk.rounds.answer())

    @app.post("/api/round")
    def start(given: RoundRequest) -> Json:
        session.desk.rounds.start(given.epochs)
        return Json(session.desk.rounds.answer())

    @app.post("/api/round/cancel")
    def cancel(_: NoFields) -> Json:
        session.desk.rounds.cancel()
        return Json(session.desk.rounds.answer())

    @app.post("/api/open_round")
    def open_round(_: NoFields) -> Json:
        session.open_round()
        return Json({"state": _state(session)})


def _state(session: Session) -> dict[str, Any]:
    desk = session.desk
    return {
        **desk.answers.state(),
        "pictures": desk.insight.kept.folder.name,  # another run has other images by the same ids
        "line_preparing": desk.preparing.line,
        "round": vars(desk.rounds.progress),
    }


def _ids(text: str) -> list[int]:
    """Ids as in ``?ids=1,2,3``."""
    parts = text.split(",") if text else []
    if not all(part.isascii() and part.isdigit() and len(part) < 10 for part in parts):
        raise UserError("ids: expected whole numbers with commas between them, like 1,2,3")
    return [int(part) for part in parts]
