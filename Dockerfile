# legogcd on a CPU: docker build -t legogcd . && docker run --rm -v "$PWD:/data" legogcd discover photos --labels labels.csv --classes 12 --out run
FROM python:3.12-slim-bookworm

ENV PIP_NO_CACHE_DIR=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    XDG_CACHE_HOME=/cache \
    XDG_STATE_HOME=/cache/state

WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY legogcd ./legogcd
# an index of PyTorch wheels without CUDA makes the image a fifth of the size: --build-arg TORCH_INDEX=URL (pytorch.org names it)
ARG TORCH_INDEX=""
RUN PIP_EXTRA_INDEX_URL="$TORCH_INDEX" pip install "/src[raw]" \
    && rm -rf /src \
    && useradd --create-home --uid 1000 person \
    && mkdir -p /cache /data \
    && chown person /cache /data

USER 1000
WORKDIR /data
VOLUME ["/cache"]
ENTRYPOINT ["legogcd"]
CMD ["--help"]
