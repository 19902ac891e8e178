/**
 * `secret("name")` in an expression: the value of a secret reference of the project, read by the agent when the expression comes to it.
 *
 * The name is written there as a text. Were it computed, then whoever starts a pipeline, or the rows that it reads, could choose the secret;
 * so it also can be looked up before the run.
 */
import { secretUseLimit } from './bounds.ts';
import type { Plain } from './pipeline.ts';

/** Where an engine has the values from. */
export interface SecretSource {
  /** @throws Error that says why there is no value; its message names the reference. */
  read(name: string): Promise<string>;
  /** A message of an error without the values and without parts of them; it is cut only afterwards. */
  conceal(message: string): string;
}

const call = /(?<![\w$.])secret\s*\(\s*(["'`])([\w()-]{1,128})\1\s*\)/g;

const whole = /^\s*\$\{\s*secret\s*\(\s*(["'`])([\w()-]{1,128})\1\s*\)\s*\}\s*$/;

/**
 * The name in a default value that is `${secret("name")}` and nothing else. Default values are texts otherwise, not expressions; what is given for a
 * variable, by whoever starts the pipeline, always is.
 */
export function secretOfDefault(defaultValue: Plain): string | undefined {
  return typeof defaultValue === 'string' ? whole.exec(defaultValue)?.[2] : undefined;
}

/** The names that an expression, or a text with expressions, asks for; each once. */
export function secretNames(source: string): string[] {
  if (!source.includes('secret')) return [];
  const names = new Set<string>();
  for (const [, , name = ''] of source.matchAll(call)) {
    names.add(name);
    if (names.size === secretUseLimit) break;
  }
  return [...names];
}
