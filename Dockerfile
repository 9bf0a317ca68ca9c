# Two stages: the wheel is built where compilers may be, and runs where only Python is.
FROM python:3.13-slim AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY canary canary
COPY probes probes
RUN pip install --no-cache-dir build && python -m build --wheel --outdir /wheels

FROM python:3.13-slim
# The process needs no shell, no home and no right to write anything but /var/lib/canary, where its history is.
RUN useradd --system --uid 10001 --home-dir /var/lib/canary --create-home --shell /usr/sbin/nologin canary
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir "$(ls /wheels/*.whl)[compression,postgres,png]" && rm -r /wheels
ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
USER 10001
WORKDIR /var/lib/canary
VOLUME /var/lib/canary
EXPOSE 9469
# Alive, not ready: an orchestrator must not restart a canary because what it watches is broken. CANARY_HEALTH_URL is
# for a `listen` of its own.
HEALTHCHECK --interval=30s --timeout=10s --start-period=30s CMD ["python", "-c", "import os, urllib.request as request; request.urlopen(os.environ.get('CANARY_HEALTH_URL', 'http://127.0.0.1:9469/-/healthy'), timeout=5)"]
# PID 1 is the program itself, so that it gets SIGTERM; give it longer than `shutdown_grace` before SIGKILL.
STOPSIGNAL SIGTERM
ENTRYPOINT ["canary"]
CMD ["run", "--config", "/etc/canary"]
