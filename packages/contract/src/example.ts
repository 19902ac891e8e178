/**
 * One request and its answer for each operation, as the OpenAPI document and the reference show them. The file is what
 * a real server answered: a test of the server sends every request and compares (`npm run generate` records them
 * again). Identifiers and secrets in it are stand-ins.
 */
import recorded from './examples.json' with { type: 'json' };

export interface PublishedExample {
  request: {
    params?: Record<string, string>;
    query?: Record<string, string>;
    headers?: Record<string, string>;
    body?: unknown;
    /** Of a form: the name of each part, which is the path of a file, with its content. */
    parts?: Record<string, string>;
  };
  answer: { status: number; headers?: Record<string, string>; body?: unknown };
}

/**
 * The server that answered when they were recorded; a document of another server shows that one's address in its place.
 */
const recordedAt = 'http://127.0.0.1:8080';

/** By the operation's id. */
export function publishedExamples(serverUrl: string): Record<string, PublishedExample> {
  return JSON.parse(JSON.stringify(recorded).replaceAll(recordedAt, serverUrl)) as Record<
    string,
    PublishedExample
  >;
}
