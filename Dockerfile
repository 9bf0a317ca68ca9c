# Two stages: the wheel is built where compilers may be, and runs where only Python is.
FROM python:3.13-slim AS build
WORKDIR /src
COPY pyproject.toml README.md ./
COPY canary canary
COPY probes probes
RUN pip install --no-cache-dir build && python -m build --wheel --outdir /wheels

FROM python:3.13-slim
# The process needs no shell, no home and no right to write anything but /var/lib/canary.
RUN useradd --system --uid 10001 --home-dir /var/lib/canary --create-home --shell /usr/sbin/nologin canary
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir "$(ls /wheels/*.whl)[compression]" && rm -r /wheels
ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
USER 10001
WORKDIR /var/lib/canary
# PID 1 is the program itself, so that it gets SIGTERM. No network, no config: the code is whole if this passes.
HEALTHCHECK --interval=60s --timeout=10s --start-period=5s CMD ["canary", "presets", "nginx"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["canary"]
CMD ["--help"]
