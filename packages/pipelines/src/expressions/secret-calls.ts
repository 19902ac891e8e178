/**
 * `secret("name")` in an expression is the value of a secret reference of the project. The agent reads it
 * when the expression is evaluated.
 *
 * The name must be a literal. If it could be computed, the caller of a pipeline or the rows that it reads
 * could choose the secret. A literal can also be checked before the run.
 */
import { secretUseLimit } from '../format/bounds.ts';
import type { Plain } from '../format/pipeline.ts';

/** The source of secret values for an engine. */
export interface SecretSource {
  /** @throws Error if there is no value; the message names the reference and gives the reason */
  read(name: string): Promise<string>;
  /** Removes the values, and parts of them, from an error message. The message is cut only after this. */
  conceal(message: string): string;
}

const call = /(?<![\w$.])secret\s*\(\s*(["'`])([\w()-]{1,128})\1\s*\)/g;

const whole = /^\s*\$\{\s*secret\s*\(\s*(["'`])([\w()-]{1,128})\1\s*\)\s*\}\s*$/;

/**
 * The name in a default value that is exactly `${secret("name")}`. Any other default value is a plain text,
 * not an expression. Values given by the caller of a pipeline are always plain texts.
 */
export function findSecretOfDefault(defaultValue: Plain): string | undefined {
  return typeof defaultValue === 'string' ? whole.exec(defaultValue)?.[2] : undefined;
}

/** The distinct secret names in an expression or a template. */
export function findSecretNames(source: string): string[] {
  if (!source.includes('secret')) return [];
  const names = new Set<string>();
  for (const [, , name = ''] of source.matchAll(call)) {
    names.add(name);
    if (names.size === secretUseLimit) break;
  }
  return [...names];
}
