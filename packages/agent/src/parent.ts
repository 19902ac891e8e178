/** What the program that started the agent says on the agent's standard input: a new secret, and by its end that the agent shall end. */
import { createInterface } from 'node:readline';
import { type ParentMessage, Secret } from '@headgate/contract';

export function followParent(stop: AbortController, onSecret: (secret: Secret) => void): void {
  const gone = () => stop.abort('stdin was closed');
  process.stdin.on('end', gone).on('error', gone);
  createInterface({ input: process.stdin }).on('line', (line) => {
    const secret = secretIn(line);
    if (secret !== undefined) onSecret(secret);
  });
  // Whoever read our output may be gone too; to fail on that would leave no time to end in order.
  for (const output of [process.stdout, process.stderr]) output.on('error', () => undefined);
}

/** Undefined for what a newer parent may say beside it. */
function secretIn(line: string): Secret | undefined {
  try {
    const { clientSecret } = JSON.parse(line) as Partial<ParentMessage>;
    return typeof clientSecret === 'string' && clientSecret !== '' ? new Secret(clientSecret) : undefined;
  } catch {
    return undefined;
  }
}
