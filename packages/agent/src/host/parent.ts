/**
 * What the program that started the agent says on the agent's standard input: a new secret, and by its end
 * that the agent shall end.
 */
import { createInterface } from 'node:readline';
import { type ParentMessage, Secret } from '@headgate/contract';

export interface Parent {
  /**
   * The secret that it gives first, or another one that took its place meanwhile. Rejects when none comes in
   * time, and when the agent is to stop.
   */
  waitForFirstSecret(milliseconds: number): Promise<Secret>;
  /** Calls `take` with each secret that it gives from now on. */
  onSecret(take: (secret: Secret) => void): void;
}

export function followParent(stop: AbortController): Parent {
  const gone = () => stop.abort('stdin was closed');
  const came = Promise.withResolvers<void>();
  // Nobody waits for it where a setting gives the secret.
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
  // Whoever read our output may be gone too; to fail on that would leave no time to end in order.
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
  'no secret came on standard input: the program that starts the agent writes {"clientSecret": "…"} and a line break there, ' +
  'or gives HEADGATE_AGENT_CLIENT_SECRET_FILE';

/** Undefined for what a newer parent may say beside it. */
function parseSecret(line: string): Secret | undefined {
  try {
    const { clientSecret } = JSON.parse(line) as Partial<ParentMessage>;
    return typeof clientSecret === 'string' && clientSecret !== '' ? new Secret(clientSecret) : undefined;
  } catch {
    return undefined;
  }
}
