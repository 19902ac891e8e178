/** The function `secret` inside the sandbox of one expression; what it means is told in secret-calls.ts. */
import type { QuickJSContext } from 'quickjs-emscripten';
import { type SecretSource, secretNames } from './secret-calls.ts';

/** The name of the errors that it throws. */
export const secretError = 'SecretError';
const computedName =
  'write the name of the secret reference as a text of letters, digits, "_", "-", "(" and ")": secret("name")';

export const noSecrets: SecretSource = {
  read: () => Promise.reject(new Error('there are no secrets to be had here')),
  conceal: (message) => message,
};

/** What an expression knows of secrets while it is evaluated. */
export interface Secrets extends Pick<SecretSource, 'conceal'> {
  readonly names: readonly string[];
  readonly values: Map<string, string>;
  /** The one that the last evaluation came to without its value. */
  wanted: string | undefined;
}

export function secretsOf(expression: string, { conceal }: SecretSource): Secrets {
  return { names: secretNames(expression), values: new Map(), wanted: undefined, conceal };
}

/** @throws what the source throws */
export async function readWanted(secrets: Secrets, source: SecretSource): Promise<void> {
  const { wanted = '' } = secrets;
  secrets.wanted = undefined;
  secrets.values.set(wanted, await source.read(wanted));
}

/** Before the variables: one of the same name replaces it. */
export function defineSecret(context: QuickJSContext, secrets: Secrets): void {
  const refuse = (message: string) => ({ error: context.newError({ name: secretError, message }) });
  const secret = context.newFunction('secret', (given) => {
    const name =
      given !== undefined && context.typeof(given) === 'string' ? context.getString(given) : undefined;
    if (name === undefined || !secrets.names.includes(name)) return refuse(computedName);
    const value = secrets.values.get(name);
    if (value !== undefined) return context.newString(value);
    // Noted, not only thrown: the expression may catch it.
    secrets.wanted ??= name;
    return refuse('it is not read yet');
  });
  context.setProp(context.global, 'secret', secret);
  secret.dispose();
}
