// Made by `npm run client` from openapi.json, and not to be changed by hand. SHA-256 of both: 0c0198e9d7623233b69c1190232e6a96dc9f26ded7d3a33b7a138bed78e767ed
export interface paths {
    "/plants": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List plants
         * @description Returns plants in the order of their ids, one page at a time. The Link header has the URL of the next page; the last page has none. Concurrent inserts and deletes never make a listing skip or repeat other plants.
         */
        get: operations["listPlants"];
        put?: never;
        /**
         * Create a plant
         * @description Creates a plant under an id that the client chooses, and responds once it is committed. Never overwrites: an id that is taken is an error, even for an identical plant.
         *
         *     <details><summary>curl</summary>
         *
         *     ```
         *     curl http://127.0.0.1:3000/plants \
         *       -H "Authorization: Bearer $ACCESS_TOKEN" \
         *       -H 'Content-Type: application/json' \
         *       -d '{"id": 9223372036854775807, "name": "Ginkgo"}'
         *     ```
         *
         *     </details>
         *
         *     <details><summary>JavaScript</summary>
         *
         *     ```
         *     const id = 9223372036854775807n;
         *     const response = await fetch('http://127.0.0.1:3000/plants', {
         *       method: 'POST',
         *       headers: { Authorization: `Bearer ${process.env.ACCESS_TOKEN}`, 'Content-Type': 'application/json' },
         *       body: JSON.stringify({ id: JSON.rawJSON(String(id)), name: 'Ginkgo' }),
         *     });
         *     // To read ids exactly, pass JSON.parse a function that makes them a BigInt.
         *     const exact = (key, value, { source }) => (key === 'id' ? BigInt(source) : value);
         *     console.log(response.status, JSON.parse(await response.text(), exact));
         *     ```
         *
         *     </details>
         *
         *     <details><summary>Python</summary>
         *
         *     ```
         *     import json, os, urllib.request
         *
         *     request = urllib.request.Request(
         *         "http://127.0.0.1:3000/plants",
         *         json.dumps({"id": 9223372036854775807, "name": "Ginkgo"}).encode(),
         *         {"Authorization": f"Bearer {os.environ['ACCESS_TOKEN']}", "Content-Type": "application/json"},
         *     )
         *     with urllib.request.urlopen(request) as response:
         *         print(response.status, json.load(response))
         *     ```
         *
         *     </details>
         */
        post: operations["createPlant"];
        /**
         * Delete the plants that match
         * @description Deletes all plants that match. At least one of `tag`, `id` and `q` is needed. It is one statement, which changes all of them or, if it takes too long (1505) or fails, none; add a `limit` then. It takes no Idempotency-Key and no If-Match.
         */
        delete: operations["deletePlants"];
        options?: never;
        head?: never;
        /**
         * Change the plants that match
         * @description Applies a JSON Merge Patch (RFC 7396) to all plants that match. Those that would stay as they are do not count. At least one of `tag`, `id` and `q` is needed. It is one statement, which changes all of them or, if it takes too long (1505) or fails, none; add a `limit` then. It takes no Idempotency-Key and no If-Match.
         */
        patch: operations["patchPlants"];
        trace?: never;
    };
    "/plants/count": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Count plants
         * @description Counts all plants, or those that match, as of a single point in time. It reads all of them.
         */
        get: operations["countPlants"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/plants/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a plant
         * @description Returns a plant with its id, which may have more digits than a double holds, and its version as ETag.
         */
        get: operations["getPlant"];
        /**
         * Replace a plant
         * @description Replaces the name and the tag of a stored plant. Without a tag, the plant has none. Never creates a plant.
         */
        put: operations["replacePlant"];
        post?: never;
        /**
         * Delete a plant
         * @description Deletes a stored plant. Its id is free again.
         */
        delete: operations["deletePlant"];
        options?: never;
        head?: never;
        /**
         * Change a plant
         * @description Applies a JSON Merge Patch (RFC 7396): replaces the members that it has, and removes the tag if it is null. The response has the whole plant, so the token needs both scopes.
         */
        patch: operations["patchPlant"];
        trace?: never;
    };
    "/plants/import": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Import plants
         * @description Creates plants from NDJSON with one NewPlant per line, CSV with a header row (`id`, `name`, `tag`), both of any size and `charset`, or a JSON array. An import is one transaction: if it is interrupted, or too many rows fail, nothing is stored.
         */
        post: operations["importPlants"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/plants/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Export plants
         * @description Returns all plants, or those that match, ordered by id, as of a single point in time. The response is streamed as fast as the client reads it. A client that reads nothing for one to two minutes is disconnected, and one that takes longer than the operator allows, by default an hour. If the export fails after the response has started, the connection is closed without the last chunk.
         */
        get: operations["exportPlants"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/openapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get this OpenAPI document
         * @description The API as this instance serves it: generate clients from it, or import it into other tools.
         */
        get: operations["getDescription"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/livez": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Check that the process responds
         * @description For a liveness probe: it asks nothing of the database, so an outage restarts no instance.
         */
        get: operations["isLive"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/readyz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Check that the service can handle requests
         * @description For a readiness probe or a load balancer: asks the database, on a connection of its own.
         */
        get: operations["isReady"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        NewPlant: {
            /**
             * Format: int64
             * @description Identification number of the plant
             */
            id: bigint;
            /** @description The name of the plant */
            name: string;
            /** @description Tag that specifies the type of the plant */
            tag?: string;
        };
        Plant: {
            /** @description The name of the plant */
            name: string;
            /** @description Tag that specifies the type of the plant */
            tag?: string;
        };
        PlantPatch: {
            name?: string;
            tag?: string | null;
        };
        StoredPlant: {
            /**
             * Format: int64
             * @description Identification number of the plant
             */
            id: bigint;
            /** @description The name of the plant */
            name: string;
            /** @description Tag that specifies the type of the plant */
            tag?: string;
        };
        ImportSummary: {
            /** @description The number of plants created. */
            created: number;
            /** @description The number of existing plants whose name and tag are those of their row now. */
            replaced: number;
            /** @description The number of rows skipped because their id was taken (`onConflict=skip`). */
            skipped: number;
            /** @description The number of failed rows. */
            failed: number;
            /** @description The failed rows in line order; if they are too many, the first `maxErrors` + 1. */
            errors: {
                /** @description The line on which the row begins, or the number of the array element, from 1. */
                line: number;
                /**
                 * Format: int64
                 * @description The id of the row, if it is valid.
                 */
                id?: bigint;
                /**
                 * Format: int32
                 * @description The error code.
                 */
                error: number;
                /** @description What is wrong with the row. */
                message: string;
            }[];
            /** @description With status 400: the line of the last of `errors`. */
            stoppedAt?: number;
            /**
             * Format: int32
             * @description With status 400: the code of the last of `errors`.
             */
            error?: number;
            /** @description With status 400: why nothing is stored. With status 200: that the file had no rows, such as CSV with only a header row. */
            message?: string;
        };
        Error: {
            /**
             * Format: int32
             * @description A stable code. Codes are never reused.
             */
            error: number;
            /** @description What is wrong and what is expected. Names every wrong field. */
            message: string;
        };
        Problem: {
            /**
             * Format: uri-reference
             * @description Where this host explains the error: an absolute path and a fragment.
             */
            type: string;
            /** @description A summary, the same for every error with this code. */
            title: string;
            /**
             * Format: int32
             * @description The HTTP status.
             */
            status: number;
            /** @description What is wrong with this request; the same as `message` in an Error. */
            detail: string;
            /**
             * Format: int32
             * @description The stable code; the same as `error` in an Error.
             */
            code: number;
            /** @description Every wrong field. */
            errors?: {
                /** @description The field as a JSON Pointer (RFC 6901); empty for the whole body. */
                pointer: string;
                /** @description What the field must be. */
                detail: string;
            }[];
        };
    };
    responses: {
        /** @description The request is not valid HTTP/1.1 (1006). */
        BadRequest: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description There is no token (1100). The token is wrong, expired or revoked (1101). */
        Unauthorized: {
            headers: {
                "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The token lacks a scope (1102). */
        Forbidden: {
            headers: {
                "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The request took too long to arrive (1203). */
        RequestTimeout: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description Too many requests came with this token or from this address (1400). */
        TooManyRequests: {
            headers: {
                "Retry-After": components["headers"]["Retry-After"];
                "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The service has a bug, or lacks a database privilege (1599). */
        InternalServerError: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The keys that verify the token cannot be fetched from the identity provider (1503). Too many requests are waiting, or data is locked for too long; this one changed nothing (1500). The database cannot be reached, or was lost during the request (1501). The database is not migrated (1502). */
        ServiceUnavailable: {
            headers: {
                "Retry-After": components["headers"]["Retry-After"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
    };
    parameters: never;
    requestBodies: never;
    headers: {
        /**
         * @description The media type that the request body must have (RFC 9110 §15.5.16).
         * @example application/json
         */
        Accept: string;
        /**
         * @description The codings that the request body may have (RFC 9110 §12.5.3).
         * @example gzip, deflate, br
         */
        "Accept-Encoding": string;
        /**
         * @description The name of the file (RFC 6266).
         * @example attachment; filename="plants.ndjson"
         */
        "Content-Disposition": string;
        /**
         * @description The version of the response body, for If-Match and If-None-Match (RFC 9110 §8.8.3).
         * @example "x3Kq0bZ9v2o"
         */
        ETag: string;
        /**
         * @description The next page, relative to this URL (RFC 8288).
         * @example <?limit=97&cursor=MTc>; rel="next"
         */
        Link: string;
        /**
         * @description How long to wait before a retry, in seconds (RFC 9110 §10.2.3).
         * @example 1
         */
        "Retry-After": number;
        /**
         * @description How to authenticate, and why the token was rejected (RFC 6750 §3).
         * @example Bearer realm="plants", error="invalid_token"
         */
        "WWW-Authenticate": string;
    };
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    listPlants: {
        parameters: {
            query?: {
                /** @description The maximum number of plants on a page */
                limit?: number;
                /** @description Where the page starts. Use the URL in the Link header of the previous page; do not construct cursors. */
                cursor?: string;
                /** @description Only plants with exactly this tag */
                tag?: string;
                /** @description Only plants with one of these ids: `?id=17&id=18`, at most 100 */
                id?: bigint[];
                /** @description Only plants whose name contains this text, ignoring case */
                q?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of plants, which may be empty. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StoredPlant"][];
                };
            };
            /** @description A parameter of the path or the query is wrong (1005). The request is not valid HTTP/1.1 (1006). */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            /** @description The keys that verify the token cannot be fetched from the identity provider (1503). Too many requests are waiting, or data is locked for too long; this one changed nothing (1500). The database cannot be reached, or was lost during the request (1501). The database is not migrated (1502). The search took too long, or the change of many plants, which changed nothing (1505). */
            503: {
                headers: {
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    createPlant: {
        parameters: {
            query?: never;
            header?: {
                /** @description A text that no other request of this token has, such as a UUID: 1 to 255 visible ASCII characters, optionally in double quotes. The same request with the same key has the same response, and is carried out once. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewPlant"];
            };
        };
        responses: {
            /** @description The plant is stored. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Plant"];
                };
            };
            /** @description The body is not JSON, or not UTF-8 (1000). The content type or encoding is not supported (1001). The body is too large (1002). A field is missing or wrong (1003). The id is taken (1004). The Idempotency-Key is not valid (1300). An Idempotency-Key is not supported for this request; nothing was changed (1303). The request is not valid HTTP/1.1 (1006). */
            400: {
                headers: {
                    Accept: components["headers"]["Accept"];
                    "Accept-Encoding": components["headers"]["Accept-Encoding"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["RequestTimeout"];
            /** @description The Idempotency-Key came with another request before (1301). */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    deletePlants: {
        parameters: {
            query?: {
                /** @description Only plants with exactly this tag */
                tag?: string;
                /** @description Only plants with one of these ids: `?id=17&id=18`, at most 100 */
                id?: bigint[];
                /** @description Only plants whose name contains this text, ignoring case */
                q?: string;
                /** @description Only so many plants, the first in the order of ids: repeat the request until it changes none */
                limit?: number;
                /** @description Counts the plants and changes nothing */
                dryRun?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The number of plants that were deleted or, in a dry run, would be. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        deleted: number;
                    };
                };
            };
            /** @description A parameter of the path or the query is wrong (1005). The Idempotency-Key is not valid (1300). An Idempotency-Key is not supported for this request; nothing was changed (1303). The request is not valid HTTP/1.1 (1006). */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            /** @description The keys that verify the token cannot be fetched from the identity provider (1503). Too many requests are waiting, or data is locked for too long; this one changed nothing (1500). The database cannot be reached, or was lost during the request (1501). The database is not migrated (1502). The search took too long, or the change of many plants, which changed nothing (1505). */
            503: {
                headers: {
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    patchPlants: {
        parameters: {
            query?: {
                /** @description Only plants with exactly this tag */
                tag?: string;
                /** @description Only plants with one of these ids: `?id=17&id=18`, at most 100 */
                id?: bigint[];
                /** @description Only plants whose name contains this text, ignoring case */
                q?: string;
                /** @description Only so many plants, the first in the order of ids: repeat the request until it changes none */
                limit?: number;
                /** @description Counts the plants and changes nothing */
                dryRun?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/merge-patch+json": components["schemas"]["PlantPatch"];
                "application/json": components["schemas"]["PlantPatch"];
            };
        };
        responses: {
            /** @description The number of plants that were changed or, in a dry run, would be. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        updated: number;
                    };
                };
            };
            /** @description The body is not JSON, or not UTF-8 (1000). The content type or encoding is not supported (1001). The body is too large (1002). A field is missing or wrong (1003). A parameter of the path or the query is wrong (1005). The Idempotency-Key is not valid (1300). An Idempotency-Key is not supported for this request; nothing was changed (1303). The request is not valid HTTP/1.1 (1006). */
            400: {
                headers: {
                    Accept: components["headers"]["Accept"];
                    "Accept-Encoding": components["headers"]["Accept-Encoding"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            /** @description The keys that verify the token cannot be fetched from the identity provider (1503). Too many requests are waiting, or data is locked for too long; this one changed nothing (1500). The database cannot be reached, or was lost during the request (1501). The database is not migrated (1502). The search took too long, or the change of many plants, which changed nothing (1505). */
            503: {
                headers: {
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    countPlants: {
        parameters: {
            query?: {
                /** @description Only plants with exactly this tag */
                tag?: string;
                /** @description Only plants whose name contains this text, ignoring case */
                q?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The number of plants. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        count: number;
                    };
                };
            };
            /** @description A parameter of the path or the query is wrong (1005). The request is not valid HTTP/1.1 (1006). */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            /** @description The keys that verify the token cannot be fetched from the identity provider (1503). Too many requests are waiting, or data is locked for too long; this one changed nothing (1500). The database cannot be reached, or was lost during the request (1501). The database is not migrated (1502). The search took too long, or the change of many plants, which changed nothing (1505). */
            503: {
                headers: {
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getPlant: {
        parameters: {
            query?: never;
            header?: {
                /** @description ETags, or `*`. Unless one is current, the response is 412. */
                "If-Match"?: string;
                /** @description ETags, or `*`. If one is current, the response to a GET is 304, and to a change 412. */
                "If-None-Match"?: string;
            };
            path: {
                /**
                 * @description Identification number of the plant, in decimal digits
                 * @example 17
                 */
                id: bigint;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The plant, with its id. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StoredPlant"];
                };
            };
            /** @description Not modified: an ETag in If-None-Match is current. */
            304: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A parameter of the path or the query is wrong (1005). The request is not valid HTTP/1.1 (1006). */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            /** @description There is no such plant (1201). */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            408: components["responses"]["RequestTimeout"];
            /** @description The condition in If-Match or If-None-Match is not met; nothing was changed (1204). */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    replacePlant: {
        parameters: {
            query?: never;
            header?: {
                /** @description ETags, or `*`. Unless one is current, the response is 412. */
                "If-Match"?: string;
                /** @description ETags, or `*`. If one is current, the response to a GET is 304, and to a change 412. */
                "If-None-Match"?: string;
                /** @description A text that no other request of this token has, such as a UUID: 1 to 255 visible ASCII characters, optionally in double quotes. The same request with the same key has the same response, and is carried out once. */
                "Idempotency-Key"?: string;
            };
            path: {
                /**
                 * @description Identification number of the plant, in decimal digits
                 * @example 17
                 */
                id: bigint;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Plant"];
            };
        };
        responses: {
            /** @description The plant as it is now. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Plant"];
                };
            };
            /** @description The body is not JSON, or not UTF-8 (1000). The content type or encoding is not supported (1001). The body is too large (1002). A field is missing or wrong (1003). A parameter of the path or the query is wrong (1005). The Idempotency-Key is not valid (1300). An Idempotency-Key is not supported for this request; nothing was changed (1303). The request is not valid HTTP/1.1 (1006). */
            400: {
                headers: {
                    Accept: components["headers"]["Accept"];
                    "Accept-Encoding": components["headers"]["Accept-Encoding"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            /** @description There is no such plant (1201). */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            408: components["responses"]["RequestTimeout"];
            /** @description The condition in If-Match or If-None-Match is not met; nothing was changed (1204). */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The Idempotency-Key came with another request before (1301). */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    deletePlant: {
        parameters: {
            query?: never;
            header?: {
                /** @description ETags, or `*`. Unless one is current, the response is 412. */
                "If-Match"?: string;
                /** @description ETags, or `*`. If one is current, the response to a GET is 304, and to a change 412. */
                "If-None-Match"?: string;
                /** @description A text that no other request of this token has, such as a UUID: 1 to 255 visible ASCII characters, optionally in double quotes. The same request with the same key has the same response, and is carried out once. */
                "Idempotency-Key"?: string;
            };
            path: {
                /**
                 * @description Identification number of the plant, in decimal digits
                 * @example 17
                 */
                id: bigint;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The plant is deleted. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A parameter of the path or the query is wrong (1005). The Idempotency-Key is not valid (1300). An Idempotency-Key is not supported for this request; nothing was changed (1303). The request is not valid HTTP/1.1 (1006). */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            /** @description There is no such plant (1201). */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            408: components["responses"]["RequestTimeout"];
            /** @description The condition in If-Match or If-None-Match is not met; nothing was changed (1204). */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The Idempotency-Key came with another request before (1301). */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    patchPlant: {
        parameters: {
            query?: never;
            header?: {
                /** @description ETags, or `*`. Unless one is current, the response is 412. */
                "If-Match"?: string;
                /** @description ETags, or `*`. If one is current, the response to a GET is 304, and to a change 412. */
                "If-None-Match"?: string;
                /** @description A text that no other request of this token has, such as a UUID: 1 to 255 visible ASCII characters, optionally in double quotes. The same request with the same key has the same response, and is carried out once. */
                "Idempotency-Key"?: string;
            };
            path: {
                /**
                 * @description Identification number of the plant, in decimal digits
                 * @example 17
                 */
                id: bigint;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/merge-patch+json": components["schemas"]["PlantPatch"];
                "application/json": components["schemas"]["PlantPatch"];
            };
        };
        responses: {
            /** @description The plant as it is now. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Plant"];
                };
            };
            /** @description The body is not JSON, or not UTF-8 (1000). The content type or encoding is not supported (1001). The body is too large (1002). A field is missing or wrong (1003). A parameter of the path or the query is wrong (1005). The Idempotency-Key is not valid (1300). An Idempotency-Key is not supported for this request; nothing was changed (1303). The request is not valid HTTP/1.1 (1006). */
            400: {
                headers: {
                    Accept: components["headers"]["Accept"];
                    "Accept-Encoding": components["headers"]["Accept-Encoding"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            /** @description There is no such plant (1201). */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            408: components["responses"]["RequestTimeout"];
            /** @description The condition in If-Match or If-None-Match is not met; nothing was changed (1204). */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The Idempotency-Key came with another request before (1301). */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    importPlants: {
        parameters: {
            query?: {
                /** @description What to do with a row whose id is taken: report it as failed (`error`), skip it, or replace the plant. If an id occurs twice in an import, the first row wins. */
                onConflict?: "error" | "skip" | "replace";
                /** @description Checks everything and stores nothing */
                dryRun?: boolean;
                /** @description Stores all rows or, if one fails, none */
                atomic?: boolean;
                /** @description If more rows than this fail, nothing is stored */
                maxErrors?: number;
                /** @description The delimiter of CSV; by default recognized from the header row */
                delimiter?: "," | ";" | "tab" | "\t";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewPlant"][];
                "application/x-ndjson": string;
                "text/csv": string;
            };
        };
        responses: {
            /** @description The whole file was read, and its rows are stored, except those that failed. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ImportSummary"];
                };
            };
            /** @description An ImportSummary, if too many rows failed; or an Error. The body is not JSON, or not UTF-8 (1000). The content type or encoding is not supported (1001). The body is too large (1002). A field is missing or wrong (1003). A parameter of the path or the query is wrong (1005). The id is taken (1004). The request is not valid HTTP/1.1 (1006). */
            400: {
                headers: {
                    Accept: components["headers"]["Accept"];
                    "Accept-Encoding": components["headers"]["Accept-Encoding"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            /** @description The keys that verify the token cannot be fetched from the identity provider (1503). Too many requests are waiting, or data is locked for too long; this one changed nothing (1500). The database cannot be reached, or was lost during the request (1501). The database is not migrated (1502). The service is stopping (only from /readyz and imports) (1504). */
            503: {
                headers: {
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    exportPlants: {
        parameters: {
            query?: {
                /** @description The format of the response: one JSON object per line, or CSV */
                format?: "ndjson" | "csv";
                /** @description Only plants with exactly this tag */
                tag?: string;
                /** @description Only plants whose name contains this text, ignoring case */
                q?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The plants, as a file. */
            200: {
                headers: {
                    "Content-Disposition": components["headers"]["Content-Disposition"];
                    [name: string]: unknown;
                };
                content: {
                    "application/x-ndjson": string;
                    "text/csv": string;
                };
            };
            /** @description A parameter of the path or the query is wrong (1005). The request is not valid HTTP/1.1 (1006). */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            /** @description The keys that verify the token cannot be fetched from the identity provider (1503). Too many requests are waiting, or data is locked for too long; this one changed nothing (1500). The database cannot be reached, or was lost during the request (1501). The database is not migrated (1502). The search took too long, or the change of many plants, which changed nothing (1505). */
            503: {
                headers: {
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getDescription: {
        parameters: {
            query?: never;
            header?: {
                /** @description ETags, or `*`. Unless one is current, the response is 412. */
                "If-Match"?: string;
                /** @description ETags, or `*`. If one is current, the response to a GET is 304, and to a change 412. */
                "If-None-Match"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description This document. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
            /** @description Not modified: an ETag in If-None-Match is current. */
            304: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            408: components["responses"]["RequestTimeout"];
            /** @description The condition in If-Match or If-None-Match is not met; nothing was changed (1204). */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            500: components["responses"]["InternalServerError"];
        };
    };
    isLive: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The process responds. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        status: "live";
                    };
                };
            };
            400: components["responses"]["BadRequest"];
            408: components["responses"]["RequestTimeout"];
            500: components["responses"]["InternalServerError"];
        };
    };
    isReady: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The database is reachable and migrated. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        status: "ready";
                    };
                };
            };
            400: components["responses"]["BadRequest"];
            408: components["responses"]["RequestTimeout"];
            500: components["responses"]["InternalServerError"];
            /** @description Too many requests are waiting, or data is locked for too long; this one changed nothing (1500). The database cannot be reached, or was lost during the request (1501). The database is not migrated (1502). The service is stopping (only from /readyz and imports) (1504). */
            503: {
                headers: {
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
}
