// Made by `npm run client` from openapi.json, and not to be changed by hand. SHA-256 of both: e075e44d70c1e3531c4f9f2398b6ddfd15caea38b071f2973d91f5886c2eaa92
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
         * @description Plants in the order of their ids, a page at a time. The header Link says where the next page is, and is absent on the last one. Plants that are added or deleted meanwhile neither repeat others nor hide them.
         */
        get: operations["listPlants"];
        put?: never;
        /**
         * Create a plant
         * @description Stores a plant under an id of the client's own. Nothing is ever overwritten: an id that is taken is an error, also for the same plant. The answer comes when the plant is on disk.
         */
        post: operations["createPlant"];
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
        /** Get a plant */
        get: operations["getPlant"];
        /**
         * Replace a plant
         * @description Replaces name and tag of a stored plant; without a tag, it has none any more. Never creates one.
         */
        put: operations["replacePlant"];
        post?: never;
        /** Delete a plant */
        delete: operations["deletePlant"];
        options?: never;
        head?: never;
        /**
         * Change a plant
         * @description A JSON Merge Patch (RFC 7396): what it names is replaced, a tag that is null is removed. The answer shows all of the plant, so that the token needs both scopes.
         */
        patch: operations["patchPlant"];
        trace?: never;
    };
    "/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Find the paths of the store */
        get: operations["getIndex"];
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
        /** Get this description */
        get: operations["getDescription"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/docs/errors": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read which errors there are */
        get: operations["listErrors"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/docs/errors/{code}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read what an error means and what to do */
        get: operations["explainError"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/docs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read this description as a page, and try the operations */
        get: operations["getPage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/docs/{file}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get what the page is made of */
        get: operations["getPageFile"];
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
        /** Ask whether the process answers */
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
        /** Ask whether the store can serve requests */
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
        Error: {
            /**
             * Format: int32
             * @description A stable code, which is never used again for something else.
             */
            error: number;
            /** @description What is wrong, with the name of every wrong field, and what would be right. */
            message: string;
        };
        Problem: {
            /**
             * Format: uri-reference
             * @description The page about this error: an absolute path on this host.
             */
            type: string;
            /** @description A summary that is the same for each error of this code. */
            title: string;
            /**
             * Format: int32
             * @description The status of the answer.
             */
            status: number;
            /** @description What is wrong this time; the message of an Error. */
            detail: string;
            /**
             * Format: int32
             * @description The stable code; the error of an Error.
             */
            code: number;
            /** @description Every wrong field. */
            errors?: {
                /** @description Where the field is: a JSON Pointer (RFC 6901); empty for the whole body. */
                pointer: string;
                /** @description What the field should be. */
                detail: string;
            }[];
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: {
        /**
         * @description The media type that the body should have had (RFC 9110 §15.5.16).
         * @example application/json
         */
        Accept: string;
        /**
         * @description The origin of the page that may read the answer.
         * @example https://example.org
         */
        "Access-Control-Allow-Origin": string;
        /**
         * @description The headers that the page may read.
         * @example ETag, Link
         */
        "Access-Control-Expose-Headers": string;
        /**
         * @description Whether the answer may be kept, and when it is to be checked (RFC 9111 §5.2).
         * @example no-store
         */
        "Cache-Control": string;
        /**
         * @description What the page may load: nothing but what the store serves.
         * @example default-src 'none'
         */
        "Content-Security-Policy": string;
        /**
         * @description The version of what is answered; see If-None-Match (RFC 9110 §8.8.3).
         * @example "x3Kq0bZ9v2o"
         */
        ETag: string;
        /**
         * @description Where the page is (RFC 9110 §10.2.2).
         * @example /docs
         */
        Location: string;
        /**
         * @description Where the next page is (RFC 8288).
         * @example </plants?limit=97&cursor=MTc>; rel="next"
         */
        Link: string;
        /**
         * @description The requests that are left, and for how many seconds (draft-ietf-httpapi-ratelimit-headers-10 §4).
         * @example "default";r=42;t=30
         */
        RateLimit: string;
        /**
         * @description The requests that are let through in how many seconds (the same draft, §3).
         * @example "default";q=600;w=60
         */
        "RateLimit-Policy": string;
        /**
         * @description When to try again, in seconds (RFC 9110 §10.2.3).
         * @example 1
         */
        "Retry-After": number;
        /**
         * @description The trace that the request is part of (https://w3c.github.io/trace-context), where the store traces.
         * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
         */
        traceresponse: string;
        /**
         * @description The headers of the request on which the answer depends (RFC 9110 §12.5.5).
         * @example Origin
         */
        Vary: string;
        /**
         * @description How to authenticate, and what was wrong with the token (RFC 6750 §3).
         * @example Bearer realm="plants", error="invalid_token"
         */
        "WWW-Authenticate": string;
        /**
         * @description The body is of the type that is said (https://fetch.spec.whatwg.org).
         * @example nosniff
         */
        "X-Content-Type-Options": string;
        /**
         * @description The id of the request in the log: the client's own, if it sent a sane one.
         * @example 0b2c7b0e-8f5e-4f0b-9c39-2f8f1c0d6a57
         */
        "X-Request-Id": string;
    };
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    listPlants: {
        parameters: {
            query?: {
                /** @description How many plants a page has at most */
                limit?: number;
                /** @description Where the page begins: as the Link to it says, and never made up */
                cursor?: string;
                /** @description Only plants whose tag is this one */
                tag?: string;
                /** @description Only plants whose name contains this, in upper or lower case */
                q?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of plants; an empty one where there are none. */
            200: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    Link: components["headers"]["Link"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StoredPlant"][];
                };
            };
            /** @description A parameter of the path or the query is wrong (1005). The request is not valid HTTP/1.1 (1006). */
            400: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no token (1100). The token is wrong, expired or revoked (1101). */
            401: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    Vary: components["headers"]["Vary"];
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token lacks a scope (1102). */
            403: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    Vary: components["headers"]["Vary"];
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request took too long to arrive (1203). */
            408: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests came with this token or from this address (1400). */
            429: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "Retry-After": components["headers"]["Retry-After"];
                    Vary: components["headers"]["Vary"];
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The store has a fault (1599). */
            500: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The identity provider does not give the keys that the token is checked with (1503). More requests wait than the store accepts; this one changed nothing (1500). The search took too long (1505). The database cannot be reached, or was lost during the request (1501). The database is not migrated (1502). */
            503: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "Retry-After": components["headers"]["Retry-After"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
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
            header?: never;
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
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Plant"];
                };
            };
            /** @description The body is not JSON, or not UTF-8 (1000). The content type or encoding is not supported (1001). The body is too large (1002). A field is missing or wrong (1003). The id is taken (1004). The request is not valid HTTP/1.1 (1006). */
            400: {
                headers: {
                    Accept: components["headers"]["Accept"];
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no token (1100). The token is wrong, expired or revoked (1101). */
            401: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    Vary: components["headers"]["Vary"];
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token lacks a scope (1102). */
            403: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    Vary: components["headers"]["Vary"];
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request took too long to arrive (1203). */
            408: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests came with this token or from this address (1400). */
            429: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "Retry-After": components["headers"]["Retry-After"];
                    Vary: components["headers"]["Vary"];
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The store has a fault (1599). */
            500: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The identity provider does not give the keys that the token is checked with (1503). More requests wait than the store accepts; this one changed nothing (1500). The database cannot be reached, or was lost during the request (1501). The database is not migrated (1502). */
            503: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "Retry-After": components["headers"]["Retry-After"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
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
                /** @description The ETags of which the answer must have one, or `*`; 412 otherwise (RFC 9110 §13.1.1). */
                "If-Match"?: string;
                /** @description The ETags of the answers that the client has, or `*`; 304 where one is current (RFC 9110 §13.1.2). */
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
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StoredPlant"];
                };
            };
            /** @description It is still what the client has, as If-None-Match says. */
            304: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A parameter of the path or the query is wrong (1005). The request is not valid HTTP/1.1 (1006). */
            400: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no token (1100). The token is wrong, expired or revoked (1101). */
            401: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    Vary: components["headers"]["Vary"];
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token lacks a scope (1102). */
            403: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    Vary: components["headers"]["Vary"];
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no such plant (1201). */
            404: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request took too long to arrive (1203). */
            408: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description What is stored is not as If-Match or If-None-Match demands; nothing was changed (1204). */
            412: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests came with this token or from this address (1400). */
            429: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "Retry-After": components["headers"]["Retry-After"];
                    Vary: components["headers"]["Vary"];
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The store has a fault (1599). */
            500: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The identity provider does not give the keys that the token is checked with (1503). More requests wait than the store accepts; this one changed nothing (1500). The database cannot be reached, or was lost during the request (1501). The database is not migrated (1502). */
            503: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "Retry-After": components["headers"]["Retry-After"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    replacePlant: {
        parameters: {
            query?: never;
            header?: {
                /** @description ETags of the plant, of which it must have one; or `*` */
                "If-Match"?: string;
                /** @description ETags of the plant, of which it must have none */
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
        requestBody: {
            content: {
                "application/json": components["schemas"]["Plant"];
            };
        };
        responses: {
            /** @description The plant as it is now. */
            200: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Plant"];
                };
            };
            /** @description The body is not JSON, or not UTF-8 (1000). The content type or encoding is not supported (1001). The body is too large (1002). A field is missing or wrong (1003). A parameter of the path or the query is wrong (1005). The request is not valid HTTP/1.1 (1006). */
            400: {
                headers: {
                    Accept: components["headers"]["Accept"];
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no token (1100). The token is wrong, expired or revoked (1101). */
            401: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    Vary: components["headers"]["Vary"];
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token lacks a scope (1102). */
            403: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    Vary: components["headers"]["Vary"];
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no such plant (1201). */
            404: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request took too long to arrive (1203). */
            408: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description What is stored is not as If-Match or If-None-Match demands; nothing was changed (1204). */
            412: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests came with this token or from this address (1400). */
            429: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "Retry-After": components["headers"]["Retry-After"];
                    Vary: components["headers"]["Vary"];
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The store has a fault (1599). */
            500: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The identity provider does not give the keys that the token is checked with (1503). More requests wait than the store accepts; this one changed nothing (1500). The database cannot be reached, or was lost during the request (1501). The database is not migrated (1502). */
            503: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "Retry-After": components["headers"]["Retry-After"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    deletePlant: {
        parameters: {
            query?: never;
            header?: {
                /** @description ETags of the plant, of which it must have one; or `*` */
                "If-Match"?: string;
                /** @description ETags of the plant, of which it must have none */
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
            /** @description The plant is deleted. */
            204: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A parameter of the path or the query is wrong (1005). The request is not valid HTTP/1.1 (1006). */
            400: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no token (1100). The token is wrong, expired or revoked (1101). */
            401: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    Vary: components["headers"]["Vary"];
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token lacks a scope (1102). */
            403: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    Vary: components["headers"]["Vary"];
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no such plant (1201). */
            404: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request took too long to arrive (1203). */
            408: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description What is stored is not as If-Match or If-None-Match demands; nothing was changed (1204). */
            412: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests came with this token or from this address (1400). */
            429: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "Retry-After": components["headers"]["Retry-After"];
                    Vary: components["headers"]["Vary"];
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The store has a fault (1599). */
            500: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The identity provider does not give the keys that the token is checked with (1503). More requests wait than the store accepts; this one changed nothing (1500). The database cannot be reached, or was lost during the request (1501). The database is not migrated (1502). */
            503: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "Retry-After": components["headers"]["Retry-After"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    patchPlant: {
        parameters: {
            query?: never;
            header?: {
                /** @description ETags of the plant, of which it must have one; or `*` */
                "If-Match"?: string;
                /** @description ETags of the plant, of which it must have none */
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
        requestBody: {
            content: {
                "application/merge-patch+json": components["schemas"]["PlantPatch"];
            };
        };
        responses: {
            /** @description The plant as it is now. */
            200: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Plant"];
                };
            };
            /** @description The body is not JSON, or not UTF-8 (1000). The content type or encoding is not supported (1001). The body is too large (1002). A field is missing or wrong (1003). A parameter of the path or the query is wrong (1005). The request is not valid HTTP/1.1 (1006). */
            400: {
                headers: {
                    Accept: components["headers"]["Accept"];
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no token (1100). The token is wrong, expired or revoked (1101). */
            401: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    Vary: components["headers"]["Vary"];
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token lacks a scope (1102). */
            403: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    Vary: components["headers"]["Vary"];
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no such plant (1201). */
            404: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request took too long to arrive (1203). */
            408: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description What is stored is not as If-Match or If-None-Match demands; nothing was changed (1204). */
            412: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests came with this token or from this address (1400). */
            429: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "Retry-After": components["headers"]["Retry-After"];
                    Vary: components["headers"]["Vary"];
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The store has a fault (1599). */
            500: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The identity provider does not give the keys that the token is checked with (1503). More requests wait than the store accepts; this one changed nothing (1500). The database cannot be reached, or was lost during the request (1501). The database is not migrated (1502). */
            503: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "Retry-After": components["headers"]["Retry-After"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getIndex: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The paths of the store. */
            200: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** Format: uri-reference */
                        docs: string;
                        /** Format: uri-reference */
                        openapi: string;
                        /** Format: uri-reference */
                        plants: string;
                        /** Format: uri-reference */
                        livez: string;
                        /** Format: uri-reference */
                        readyz: string;
                    };
                };
            };
            /** @description The API page, for a client that prefers HTML. */
            302: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    Location: components["headers"]["Location"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The request is not valid HTTP/1.1 (1006). */
            400: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request took too long to arrive (1203). */
            408: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The store has a fault (1599). */
            500: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
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
                /** @description The ETags of which the answer must have one, or `*`; 412 otherwise (RFC 9110 §13.1.1). */
                "If-Match"?: string;
                /** @description The ETags of the answers that the client has, or `*`; 304 where one is current (RFC 9110 §13.1.2). */
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
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    ETag: components["headers"]["ETag"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
            /** @description It is still what the client has, as If-None-Match says. */
            304: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    ETag: components["headers"]["ETag"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The request is not valid HTTP/1.1 (1006). */
            400: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request took too long to arrive (1203). */
            408: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description What is stored is not as If-Match or If-None-Match demands; nothing was changed (1204). */
            412: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The store has a fault (1599). */
            500: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listErrors: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETags of which the answer must have one, or `*`; 412 otherwise (RFC 9110 §13.1.1). */
                "If-Match"?: string;
                /** @description The ETags of the answers that the client has, or `*`; 304 where one is current (RFC 9110 §13.1.2). */
                "If-None-Match"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The page. */
            200: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    "Content-Security-Policy": components["headers"]["Content-Security-Policy"];
                    ETag: components["headers"]["ETag"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
            /** @description It is still what the client has, as If-None-Match says. */
            304: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    "Content-Security-Policy": components["headers"]["Content-Security-Policy"];
                    ETag: components["headers"]["ETag"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The request is not valid HTTP/1.1 (1006). */
            400: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request took too long to arrive (1203). */
            408: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description What is stored is not as If-Match or If-None-Match demands; nothing was changed (1204). */
            412: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The store has a fault (1599). */
            500: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    explainError: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETags of which the answer must have one, or `*`; 412 otherwise (RFC 9110 §13.1.1). */
                "If-Match"?: string;
                /** @description The ETags of the answers that the client has, or `*`; 304 where one is current (RFC 9110 §13.1.2). */
                "If-None-Match"?: string;
            };
            path: {
                /**
                 * @description The code of the error
                 * @example 1004
                 */
                code: 1000 | 1001 | 1002 | 1003 | 1004 | 1005 | 1006 | 1100 | 1101 | 1102 | 1200 | 1201 | 1202 | 1203 | 1204 | 1400 | 1500 | 1501 | 1502 | 1503 | 1504 | 1505 | 1599;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The page. */
            200: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    "Content-Security-Policy": components["headers"]["Content-Security-Policy"];
                    ETag: components["headers"]["ETag"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
            /** @description It is still what the client has, as If-None-Match says. */
            304: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    "Content-Security-Policy": components["headers"]["Content-Security-Policy"];
                    ETag: components["headers"]["ETag"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The request is not valid HTTP/1.1 (1006). */
            400: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no such path (1200). */
            404: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request took too long to arrive (1203). */
            408: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description What is stored is not as If-Match or If-None-Match demands; nothing was changed (1204). */
            412: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The store has a fault (1599). */
            500: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getPage: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETags of which the answer must have one, or `*`; 412 otherwise (RFC 9110 §13.1.1). */
                "If-Match"?: string;
                /** @description The ETags of the answers that the client has, or `*`; 304 where one is current (RFC 9110 §13.1.2). */
                "If-None-Match"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The page. */
            200: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    "Content-Security-Policy": components["headers"]["Content-Security-Policy"];
                    ETag: components["headers"]["ETag"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
            /** @description It is still what the client has, as If-None-Match says. */
            304: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    "Content-Security-Policy": components["headers"]["Content-Security-Policy"];
                    ETag: components["headers"]["ETag"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The request is not valid HTTP/1.1 (1006). */
            400: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request took too long to arrive (1203). */
            408: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description What is stored is not as If-Match or If-None-Match demands; nothing was changed (1204). */
            412: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The store has a fault (1599). */
            500: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getPageFile: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETags of which the answer must have one, or `*`; 412 otherwise (RFC 9110 §13.1.1). */
                "If-Match"?: string;
                /** @description The ETags of the answers that the client has, or `*`; 304 where one is current (RFC 9110 §13.1.2). */
                "If-None-Match"?: string;
            };
            path: {
                /**
                 * @description The name of the file
                 * @example logo.svg
                 */
                file: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The file. */
            200: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    ETag: components["headers"]["ETag"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "text/css": string;
                    "text/javascript": string;
                    "image/svg+xml": string;
                };
            };
            /** @description It is still what the client has, as If-None-Match says. */
            304: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    ETag: components["headers"]["ETag"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The request is not valid HTTP/1.1 (1006). */
            400: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no such path (1200). */
            404: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request took too long to arrive (1203). */
            408: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description What is stored is not as If-Match or If-None-Match demands; nothing was changed (1204). */
            412: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The store has a fault (1599). */
            500: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
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
            /** @description It does. */
            200: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        status: "live";
                    };
                };
            };
            /** @description The request is not valid HTTP/1.1 (1006). */
            400: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request took too long to arrive (1203). */
            408: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The store has a fault (1599). */
            500: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
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
            /** @description The database is reached and migrated. */
            200: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        status: "ready";
                    };
                };
            };
            /** @description The request is not valid HTTP/1.1 (1006). */
            400: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request took too long to arrive (1203). */
            408: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The store has a fault (1599). */
            500: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached, or was lost during the request (1501). The database is not migrated (1502). The store is stopping; only /readyz says so (1504). */
            503: {
                headers: {
                    "Access-Control-Allow-Origin": components["headers"]["Access-Control-Allow-Origin"];
                    "Access-Control-Expose-Headers": components["headers"]["Access-Control-Expose-Headers"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    "Retry-After": components["headers"]["Retry-After"];
                    Vary: components["headers"]["Vary"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    traceresponse: components["headers"]["traceresponse"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
}
