# Poolgate in a container: the first stage compiles, the second has only the files that run.
#
#   docker build -t poolgate .
#   docker run -p 4000:4000 -v poolgate-data:/poolgate/data -v ./config.yaml:/poolgate/config.yaml:ro poolgate
#   docker run --rm -v ./config.yaml:/poolgate/config.yaml:ro poolgate check
#
# The container needs 15 s more to stop than `timeouts.drain_ms` of config.yaml, which is 25 s: `docker run --stop-timeout 40`.
#
# Nothing but `data` is written: `--read-only --tmpfs /tmp` holds. deploy/ has Compose files for one and three nodes, and manifests for Kubernetes.
#
# A published port reaches the listener only if `listen.host` in config.yaml is 0.0.0.0; the shipped file listens on loopback.

FROM node:24-slim AS packages
RUN apt-get update && apt-get install -y --no-install-recommends python3 make g++ && rm -rf /var/lib/apt/lists/*
WORKDIR /poolgate
COPY package.json package-lock.json ./
# Only sqlite3 and esbuild run a build step; Node's headers are in the image.
ENV npm_package_config_node_gyp_nodedir=/usr/local
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund \
 && npm rebuild --ignore-scripts=false sqlite3 esbuild \
 && node --eval 'require("sqlite3")'

FROM node:24-slim
LABEL org.opencontainers.image.title="poolgate" org.opencontainers.image.version="0.1.0" org.opencontainers.image.licenses="MIT"
ENV NODE_ENV=production MALLOC_MMAP_THRESHOLD_=131072 MALLOC_TRIM_THRESHOLD_=67108864
WORKDIR /poolgate
COPY --from=packages /poolgate/node_modules ./node_modules
COPY package.json config.yaml LICENSE ./
COPY store ./store
COPY rules ./rules
COPY proxy ./proxy
RUN mkdir data && chown node:node data
USER node
VOLUME /poolgate/data
EXPOSE 4000
# At the port that config.yaml names. A node waits up to 30 s for its name. With another `--config`, use that option here too: the check can
# be replaced with `docker run --health-cmd` or `healthcheck` of Compose.
HEALTHCHECK --interval=15s --timeout=10s --start-period=45s \
  CMD ["node", "--disable-warning=ExperimentalWarning", "proxy/main.ts", "health"]
# Node is process 1, so that a stop signal reaches the server directly.
ENTRYPOINT ["node", "--disable-warning=ExperimentalWarning", "--no-memory-reducer", "--external-memory-accounted-in-global-limit", "--initial-old-space-size=64", "--no-parallel-scavenge", "proxy/main.ts"]
CMD ["serve"]
