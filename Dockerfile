# mylm in a container without a shell, run as nobody:
#
#	docker build -t mylm .
#	docker run --rm -v "$PWD:/work:ro" mylm ask -m demo "what files are here?"
#	docker run --rm -it -v "$PWD:/work:ro" -v mylm:/home/nobody -e OLLAMA_HOST=http://host.docker.internal:11434 mylm
#
# What mylm keeps (configuration, sessions, memory) is in /home/nobody. The image
# has no programs that a model could run: it reads files, the web and its memory.
ARG BASE=gcr.io/distroless/static-debian12
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
ARG TARGETOS
ARG TARGETARCH
ARG RELEASE
ARG COMMIT
ARG DATE
WORKDIR /src
COPY go.mod go.sum ./
COPY cmd/mylm/internal/nodocs cmd/mylm/internal/nodocs
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath \
	-ldflags "-s -w -X main.release=$RELEASE -X main.commit=$COMMIT -X main.date=$DATE" -o /out/mylm ./cmd/mylm && \
	mkdir -p /out/home /out/work

FROM ${BASE}
COPY --from=build /out/mylm /usr/bin/mylm
COPY --from=build --chown=65534:65534 /out/home /home/nobody
COPY --from=build /out/work /work
ENV HOME=/home/nobody
USER 65534:65534
WORKDIR /work
ENTRYPOINT ["/usr/bin/mylm"]
