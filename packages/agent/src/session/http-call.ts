/**
 * One HTTP request. Not `fetch`: its requests, responses and streams refer to each other weakly, and V8 keeps them
 * until it collects the whole heap (docs/adr/0057).
 */
import { request as requestPlainly } from 'node:http';
import { request as requestSecurely } from 'node:https';
import { pipeline, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';

export interface HttpRequest {
  method: 'GET' | 'POST';
  headers?: Record<string, string>;
  body?: string;
}

export interface HttpResponse {
  ok: boolean;
  status: number;
  statusText: string;
  body: Readable;
}

/**
 * Follows no redirect: its status is returned like any other.
 *
 * @throws the reason of `signal`, also while the body is read
 */
export function callHttp(
  url: string,
  { method, headers, body }: HttpRequest,
  signal: AbortSignal,
): Promise<HttpResponse> {
  const request = url.startsWith('https:') ? requestSecurely : requestPlainly;
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const sent = request(url, { method, headers: { ...headers, 'accept-encoding': 'gzip' } });
    let received: Readable | undefined;
    const abort = () => {
      received?.destroy(signal.reason);
      sent.destroy(signal.reason);
    };
    signal.addEventListener('abort', abort);
    sent.once('close', () => {
      signal.removeEventListener('abort', abort);
      // Node.js closes the connection of a 101 without an error.
      reject(new Error('the connection was closed without a response'));
    });
    sent.on('error', reject);
    sent.once('response', (response) => {
      const { statusCode = 0, statusMessage = '' } = response;
      received = response.headers['content-encoding'] === 'gzip' ? unzip(response) : response;
      const ok = statusCode >= 200 && statusCode < 300;
      resolve({ ok, status: statusCode, statusText: statusMessage, body: received });
    });
    sent.end(body);
  });
}

/** An error of the response ends the reading of its text with the same error. */
function unzip(response: Readable): Readable {
  return pipeline(response, createGunzip(), () => undefined);
}
