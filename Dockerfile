# The last stage is the service. The stages before it build its parts, from what changes rarely to what changes often. The stage
# `studio` is Prisma Studio. Everything works with Docker's classic builder too.

FROM node:26-bookworm-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# The optional packages are the embedded PostgreSQL and Node.js. The deleted files, 70 MB, are Prisma's query compilers for other
# databases and Swagger UI's source maps.
RUN npm ci --ignore-scripts --omit=dev --omit=optional \
 && find node_modules/@prisma/client/runtime -name 'query_compiler_*' ! -name 'query_compiler_small_bg.postgresql.*' -delete \
 && find node_modules/swagger-ui-dist -name '*.map' -delete

# The SBOM, for vulnerability scanners. Development dependencies are deleted first, because `npm sbom` fails if they are not installed,
# and with --package-lock-only it omits packages that are development dependencies as well.
FROM dependencies AS sbom
RUN npm pkg delete devDependencies \
 && npm sbom --sbom-format=cyclonedx --sbom-type=application >sbom.cdx.json

# Prisma's command line, without the other development dependencies.
FROM dependencies AS prisma
RUN npm pkg set --json "dependencies.prisma=$(npm pkg get devDependencies.prisma)" \
 && npm pkg delete devDependencies \
 && npm install --ignore-scripts --omit=optional

FROM prisma AS build
COPY prisma.config.ts ./
COPY prisma prisma
# `generate` downloads the schema engine without using it. Any existing file prevents the download.
RUN PRISMA_SCHEMA_ENGINE_BINARY=/usr/local/bin/node CHECKPOINT_DISABLE=1 npx prisma generate
COPY LICENSE package.json ./
COPY bin/store-role.js bin/
COPY deploy/postgres deploy/postgres
COPY deploy/citus/store-role.sql deploy/citus/
COPY src src
# The checkout may be readable by its owner only (umask 077), or come from a file system without execute permissions.
RUN chmod -R a+rX,go-w LICENSE bin deploy package.json prisma prisma.config.ts src && chmod a+x src/main.ts

# Node.js' compile cache: the service starts faster and takes 16 MiB less memory. Node.js uses it only for this user and on a CPU like the
# builder's, and ignores it otherwise. V8's memory options do not affect it.
FROM build AS compiled
RUN install -d -o node /app/.compile-cache
USER node
RUN NODE_COMPILE_CACHE=/app/.compile-cache node src/main.ts --help \
 && chmod -R a+rX /app/.compile-cache

FROM build AS studio
COPY bin/studio-relay.js bin/
RUN chmod a+rX bin/studio-relay.js
ENV NODE_ENV=production
USER node
EXPOSE 5556
ENTRYPOINT ["node", "bin/studio-relay.js"]

FROM node:26-bookworm-slim
LABEL org.opencontainers.image.title="Plant Store" \
      org.opencontainers.image.description="An HTTP service that stores plants in PostgreSQL" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="1.0.0"
WORKDIR /app
# The service installs nothing at run time. Without npm, intruders cannot either, and scanners do not report npm's dependencies.
RUN rm -rf /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/yarn* /opt/yarn* \
 && ln -s /app/src/main.ts /usr/local/bin/plant-store
ENV NODE_ENV=production HOST=0.0.0.0 METRICS_HOST=0.0.0.0 METRICS_PORT=9464 NODE_COMPILE_CACHE=/app/.compile-cache
COPY --from=dependencies /app/node_modules node_modules
COPY --from=sbom /app/sbom.cdx.json ./
COPY --from=build /app/LICENSE /app/package.json ./
COPY --from=build /app/bin bin
COPY --from=build /app/deploy deploy
COPY --from=build /app/prisma prisma
COPY --from=build /app/src src
COPY --from=compiled --chown=root:root /app/.compile-cache .compile-cache
# Everything above belongs to root, so the service cannot change its own code.
USER node
EXPOSE 3000 9464
# Readiness, not liveness: Docker does not restart unhealthy containers, and Compose, proxies and `docker ps` want to know whether the
# service works. An orchestrator that restarts on failure should probe /livez instead.
HEALTHCHECK --interval=10s --timeout=5s --start-period=10s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT || 3000}/readyz`).then(({ ok }) => process.exit(ok ? 0 : 1))"]
ENTRYPOINT ["plant-store"]
CMD ["serve"]
