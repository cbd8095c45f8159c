// The gateway's HTTP API.

/** A refusal of the API, or no answer at all (`unreachable`). */
export class ApiError extends Error {
  /** @param {string} code @param {string} message @param {number} status */
  constructor(code, message, status) {
    super(message);
    this.code = code;
    this.status = status;
  }
}

/** @param {string} path @param {string} [token] @returns {Promise<any>} */
export function get(path, token) {
  return ask("GET", path, token);
}

/**
 * @param {string} path @param {any} body @param {string} [token]
 * @param {string} [key] the same key again is the same request
 * @returns {Promise<any>}
 */
export function post(path, body, token, key) {
  return ask("POST", path, token, body, key);
}

async function ask(method, path, token, body, key) {
  const headers = new Headers({ accept: "application/json" });
  if (token) headers.set("authorization", `Bearer ${token}`);
  if (body !== undefined) headers.set("content-type", "application/json");
  if (key) headers.set("idempotency-key", key);
  let answer;
  try {
    answer = await fetch(path, {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      cache: "no-store",
    });
  } catch {
    throw new ApiError("unreachable", "The gateway cannot be reached.", 0);
  }
  const said = await answer.json().catch(() => null);
  if (answer.ok && said !== null) return said;
  const error = said?.error;
  throw new ApiError(
    error?.code ?? "failed",
    error?.message ?? `The gateway answered ${answer.status}.`,
    answer.status,
  );
}

/** A key for a request that may be sent more than once. */
export function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
