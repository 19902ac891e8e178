/** One origin in front of a Git host and the interface of its provider, as providers have it. It can hold requests. */
import { request as passOn } from 'node:http';
import { listenOnLoopback } from '@headgate/contract/testing/loopback-server';

export interface HeldRequest {
  url: string;
  authorization: string | undefined;
  /** Passes the request on. */
  release(): void;
}

export interface GitFront {
  url: string;
  /** What came, as `METHOD url`. */
  requests: string[];
  /** Each Authorization header that was shown. */
  shown: Set<string>;
  /** Resolves when a request that matches has come; it waits until it is released. @param skip as many before it */
  holdNext(matches: RegExp, skip?: number): Promise<HeldRequest>;
  close(): Promise<void>;
}

/** @param findPort the port behind for a path */
export async function startGitFront(findPort: (path: string) => number): Promise<GitFront> {
  const requests: string[] = [];
  const shown = new Set<string>();
  let holds: { matches: RegExp; skip: number; come: (held: HeldRequest) => void }[] = [];
  const listening = await listenOnLoopback(async (request, response) => {
    const { url = '/', method = '', headers } = request;
    request.on('error', () => undefined);
    response.on('error', () => undefined);
    requests.push(`${method} ${url}`);
    if (headers.authorization !== undefined) shown.add(headers.authorization);
    const hold = holds.find(({ matches }) => matches.test(`${method} ${url}`));
    if (hold !== undefined && hold.skip > 0) hold.skip -= 1;
    else if (hold !== undefined) {
      holds = holds.filter((each) => each !== hold);
      await new Promise<void>((release) => hold.come({ url, authorization: headers.authorization, release }));
    }
    const behind = passOn(
      { host: '127.0.0.1', port: findPort(url), path: url, method, headers },
      (answer) => {
        response.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(response);
      },
    );
    behind.on('error', () => response.destroy());
    request.pipe(behind);
  });
  return {
    url: `http://127.0.0.1:${listening.port}`,
    requests,
    shown,
    holdNext: (matches, skip = 0) => new Promise((come) => holds.push({ matches, skip, come })),
    close: listening.close,
  };
}
