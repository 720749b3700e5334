# legogcd on an NVIDIA GPU: docker build -f docker/cuda.Dockerfile -t legogcd:cuda . && docker run --rm --gpus all legogcd:cuda doctor
# torch's wheels bring CUDA along; the host brings the driver. Written by the same rules as the CPU's, and not run by us on a GPU.
FROM python:3.12-slim-bookworm

ENV PIP_NO_CACHE_DIR=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    NVIDIA_VISIBLE_DEVICES=all \
    NVIDIA_DRIVER_CAPABILITIES=compute,utility \
    XDG_CACHE_HOME=/cache \
    XDG_STATE_HOME=/cache/state

WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY legogcd ./legogcd
RUN pip install "/src[raw]" \
    && rm -rf /src \
    && useradd --create-home --uid 1000 person \
    && mkdir -p /cache /data \
    && chown person /cache /data

USER 1000
WORKDIR /data
VOLUME ["/cache"]
ENTRYPOINT ["legogcd"]
CMD ["--help"]
