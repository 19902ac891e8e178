/**
 * `${…}` in the text of a script. Scripts use the same characters themselves: `${name:-default}` in Bash,
 * `f"${price:.2f}"` in Python. So only what is surely an expression of the pipeline is replaced: a text that
 * begins with the name of a variable, `sysvar`, `secret(` or a JavaScript global, and goes on as JavaScript
 * does. All else is left to the script.
 */
import type { ScriptLanguage } from '../components/definition/component.ts';
import { type Evaluation, interpolate } from '../expressions/resolve.ts';

/** Without braces inside, because the end of others depends on the language. */
const embedded = /\$\{([^{}]+)\}/g;
const firstName = /^\s*([A-Za-z_$][\w$]*)/;
const globalCall =
  /^\s*(?:new\s+Date\b|(?:Date|JSON|Math|Number|Object|String|parseFloat|parseInt)\s*[.(]|secret\s*\()/;
/** What may follow a name: in Bash only what Bash itself would refuse. */
const continuations: Readonly<Record<ScriptLanguage, RegExp>> = {
  bash: /^(?:$|\.|\s)/,
  python: /^(?:$|[.[(]|\s)/,
};

/** @throws ExpressionError */
export async function resolveScript(
  text: string,
  language: ScriptLanguage,
  evaluation: Evaluation,
): Promise<string> {
  let resolved = '';
  let end = 0;
  for (const match of text.matchAll(embedded)) {
    const [whole, inner = ''] = match;
    if (!isExpression(inner, language, evaluation)) continue;
    const value = await interpolate(whole, evaluation);
    resolved += text.slice(end, match.index) + (value === null ? '' : String(value));
    end = match.index + whole.length;
  }
  return resolved + text.slice(end);
}

function isExpression(inner: string, language: ScriptLanguage, { scope }: Evaluation): boolean {
  if (globalCall.test(inner)) return true;
  const found = firstName.exec(inner);
  const name = found?.[1];
  if (found === null || name === undefined) return false;
  if (name !== 'sysvar' && scope.get(name) === undefined) return false;
  return continuations[language].test(inner.slice(found[0].length));
}
