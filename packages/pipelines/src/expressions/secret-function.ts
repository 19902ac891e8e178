/** Defines the function `secret` in the sandbox of one expression; see secret-calls.ts. */
import type { QuickJSContext } from 'quickjs-emscripten';
import { findSecretNames, type SecretSource } from './secret-calls.ts';

/** The name of the errors that the function throws. */
export const secretError = 'SecretError';
const computedName =
  'write the name of the secret reference as a text of letters, digits, "_", "-", "(" and ")": secret("name")';

export const noSecrets: SecretSource = {
  read: () => Promise.reject(new Error('secrets are not available here')),
  conceal: (message) => message,
};

/** The state of secrets during the evaluation of one expression. */
export interface Secrets extends Pick<SecretSource, 'conceal'> {
  readonly names: readonly string[];
  readonly values: Map<string, string>;
  /** The secret that the last evaluation needed but that was not read yet. */
  missing: string | undefined;
}

export function createSecrets(expression: string, { conceal }: SecretSource): Secrets {
  return { names: findSecretNames(expression), values: new Map(), missing: undefined, conceal };
}

/** @throws what the source throws */
export async function readWanted(secrets: Secrets, source: SecretSource): Promise<void> {
  const { missing: wanted = '' } = secrets;
  secrets.missing = undefined;
  secrets.values.set(wanted, await source.read(wanted));
}

/** Must run before the variables are defined: a variable of the same name replaces the function. */
export function defineSecret(context: QuickJSContext, secrets: Secrets): void {
  const refuse = (message: string) => ({ error: context.newError({ name: secretError, message }) });
  const secret = context.newFunction('secret', (input) => {
    const name =
      input !== undefined && context.typeof(input) === 'string' ? context.getString(input) : undefined;
    if (name === undefined || !secrets.names.includes(name)) return refuse(computedName);
    const value = secrets.values.get(name);
    if (value !== undefined) return context.newString(value);
    // Throwing is not enough: the expression may catch the error.
    secrets.missing ??= name;
    return refuse('it is not read yet');
  });
  context.setProp(context.global, 'secret', secret);
  secret.dispose();
}
