/**
 * Reads standard input from the program that started the agent: a line is a new secret; the end means shut
 * down.
 */
import { createInterface } from 'node:readline';
import type { ParentMessage } from '@headgate/contract';
import { Secret } from '@headgate/contract/without-schemas';

export interface Parent {
  /**
   * Waits for the first secret and returns the latest one. Rejects at the time limit, or when the agent
   * stops.
   */
  waitForFirstSecret(milliseconds: number): Promise<Secret>;
  /** Calls `take` with each further secret. */
  onSecret(take: (secret: Secret) => void): void;
}

export function followParent(stop: AbortController): Parent {
  const gone = () => stop.abort('stdin was closed');
  const came = Promise.withResolvers<void>();
  // Avoids an unhandled rejection if a setting gives the secret.
  came.promise.catch(() => undefined);
  let last = new Secret('');
  let take: ((secret: Secret) => void) | undefined;
  process.stdin.on('end', gone).on('error', gone);
  createInterface({ input: process.stdin }).on('line', (line) => {
    const secret = parseSecret(line);
    if (secret === undefined) return;
    last = secret;
    came.resolve();
    take?.(secret);
  });
  // The reader of the output may be gone too. An error here would prevent a clean shutdown.
  for (const output of [process.stdout, process.stderr]) output.on('error', () => undefined);
  return {
    async waitForFirstSecret(milliseconds) {
      const late = setTimeout(() => came.reject(new Error(noSecret)), milliseconds);
      const end = () => came.reject(new DOMException(String(stop.signal.reason), 'AbortError'));
      stop.signal.addEventListener('abort', end);
      if (stop.signal.aborted) end();
      await came.promise.finally(() => clearTimeout(late));
      return last;
    },
    onSecret(next) {
      take = next;
    },
  };
}

const noSecret =
  'no secret was received on standard input: write {"clientSecret": "…"} and a line break to it, ' +
  'or set HEADGATE_AGENT_CLIENT_SECRET_FILE';

/** Undefined for other messages, which a newer parent may send. */
function parseSecret(line: string): Secret | undefined {
  try {
    const { clientSecret } = JSON.parse(line) as Partial<ParentMessage>;
    return typeof clientSecret === 'string' && clientSecret !== '' ? new Secret(clientSecret) : undefined;
  } catch {
    return undefined;
  }
}
