// biome-ignore-all lint/suspicious/noTemplateCurlyInString: they are expressions of the format
/** Rules about secrets: written into a file, or printed by a step. */

import { isOrchestration, listNamed, listTexts, type ReviewedPipeline } from '../facts/reviewed-pipeline.ts';
import { findSecretSpans, isSecretName } from '../facts/secret-forms.ts';
import { type PipelineRule, quote, type ReportDraft } from './rule.ts';

export const plainSecrets: PipelineRule = {
  id: 'plain-secrets',
  scope: 'pipeline',
  title: 'No secret is written into a pipeline',
  level: 'ERROR',
  reason:
    'A secret in a file is in every version, in the history of the repository and in the logs of those who read it. It must be taken for known.',
  remedy:
    'Change the secret, keep the new one in a vault, and read it by `${secret("name")}` or by the name of a secret reference.',
  parameters: {
    ignored: {
      kind: 'words',
      about: 'Texts that are no secrets, such as the password of a public test account.',
      standard: [],
    },
  },
  bad: `type: orchestration
pipeline:
  components:
    Start: {type: start, transitions: {unconditional: [Stage]}}
    Stage:
      type: sql-script
      parameters: {sqlScript: "create user loader password = 'c0rrect-h0rse'"}`,
  good: `type: orchestration
pipeline:
  components:
    Start: {type: start, transitions: {unconditional: [Stage]}}
    Stage:
      type: sql-script
      parameters: {sqlScript: "create user loader password = '\${secret(\\"loader-password\\")}'"}`,
  check(reviewed, report, options) {
    const ignored = new Set(options.words('ignored'));
    const isSecret = (value: string) => looksLikeSecret(value) && !ignored.has(unquote(value));
    for (const { name, parameters } of reviewed.components)
      for (const { path, text } of listTexts(parameters)) {
        const span = findSecretSpans(text).find(({ start, end }) => isSecret(text.slice(start, end)));
        if (span === undefined) continue;
        const line = text.slice(0, span.start).split('\n').length;
        const where = text.includes('\n')
          ? `line ${line} of ${quote(String(path[0]))}`
          : quote(String(path[0]));
        const message = `${where} of the component ${quote(name)} seems to contain a secret: change it, and read it from a vault`;
        report({ component: name, at: ['parameters', String(path[0])], message });
        break;
      }
    checkDefaults(reviewed, isSecret, report);
  },
};

function checkDefaults(
  { pipeline }: ReviewedPipeline,
  isSecret: (value: string) => boolean,
  report: ReportDraft,
): void {
  for (const { name, defaultValue } of pipeline.variables.values()) {
    if (typeof defaultValue !== 'string' || defaultValue === '') continue;
    const isNamed = isSecretName(name) && isSecret(defaultValue) && hasForm(defaultValue);
    if (
      !isNamed &&
      !findSecretSpans(defaultValue).some(({ start, end }) => isSecret(defaultValue.slice(start, end)))
    )
      continue;
    const message = `the default of the variable ${quote(name)} seems to be a secret: change it, and read it from a vault`;
    report({ at: ['pipeline', 'variables', name, 'defaultValue'], message });
  }
}

/** Secrets have no blanks and more than one kind of characters. The names of secrets are words. */
function hasForm(text: string): boolean {
  return text.length >= 8 && !/\s/.test(text) && /\d/.test(text) && /[A-Za-z]/.test(text);
}

const unquote = (text: string) => text.replace(/^["'`]|["'`]$/g, '');

/** What stands for a secret: a placeholder, an expression, a variable, a call, an attribute or a plain word. */
const placeholder =
  /^(?:<.*>|\{.*\}|\[.*\]|%.*%|\$.*|:.*|\*+|x+|\.+|-+|null|none|true|false|undefined|redacted|masked|changeme|example|(?:your|my|the|some)[-_ ].*)$/i;
const placeholderPart = /_here\b|placeholder/i;
const code =
  /^(?:[a-z_][\w.]*[.([]|(?:os|self|context|secrets?|config|env|process|response|request|args|params|data)\b|f?["']\{|str$|string$|text$|varchar$|new$|await$|get|lambda)/i;

/** Keys that begin with the name of their kind. */
const keyForm = /^(?:(?:AKIA|ASIA)[A-Z0-9]{16}|gh[pousr]_|github_pat_|glpat-|xox[abprs]-|AIza|eyJ)/;

function looksLikeSecret(found: string): boolean {
  const isQuoted = /^["'`]/.test(found);
  const text = unquote(found.trim());
  if (text.length < 4 || placeholder.test(text) || placeholderPart.test(text)) return false;
  if (text.includes('${') || text.includes('{{')) return false;
  if (text.startsWith('-----BEGIN') || keyForm.test(text)) return true;
  if (!isQuoted && (code.test(text) || (/^[A-Za-z_]\w*$/.test(text) && !/\d/.test(text)))) return false;
  return !/[{}()<>]/.test(text) && !/\s/.test(text);
}

/** Calls that write to the log, by the text before their arguments. */
const printCall =
  /(?:\bprint\s*\(|\blog(?:ger|ging)?\.(?:info|debug|warning|error|critical)\s*\(|\bconsole\.log\s*\(|(?:^|[;&|\n])[ \t]*(?:echo|printf)[ \t])([^\n]{0,500})/g;

export const secretPrints: PipelineRule = {
  id: 'secret-prints',
  scope: 'pipeline',
  title: 'No step prints a secret',
  level: 'ERROR',
  reason:
    'The log of a step can be read by all who may see the execution, and is sent to those who follow it. Secrets that came from a vault are masked; parts of them, and secrets from elsewhere, are not.',
  remedy: 'Do not print the value. Print whether it is set, or its length.',
  parameters: {},
  bad: `type: orchestration
pipeline:
  components:
    Start: {type: start, transitions: {unconditional: [Show]}}
    Show: {type: print-variables, parameters: {variablesToPrint: [[api_key]]}}
  variables:
    api_key: {metadata: {type: TEXT}}`,
  good: `type: orchestration
pipeline:
  components:
    Start: {type: start, transitions: {unconditional: [Show]}}
    Show: {type: print-variables, parameters: {variablesToPrint: [[day]]}}
  variables:
    day: {metadata: {type: TEXT}}`,
  check({ components }, report) {
    for (const { name, type, component, parameters } of components) {
      const printed =
        type === 'print-variables'
          ? listNamed(parameters.variablesToPrint).find(isSecretName)
          : listTexts(parameters)
              .map(({ text }) => findPrinted(text))
              .find((each) => each !== undefined);
      const message = isOrchestration(component) ? component.outputMessage : undefined;
      const named = printed ?? (message === undefined ? undefined : findInExpression(message));
      if (named === undefined) continue;
      report({
        component: name,
        message: `the component ${quote(name)} prints ${quote(named)}, which by its name is a secret: do not print it`,
      });
    }
  },
};

/** A name of a secret among the arguments of a call that prints; texts in quotes print themselves. */
function findPrinted(text: string): string | undefined {
  for (const [, rest = ''] of text.matchAll(printCall)) {
    const found = findInExpression(rest) ?? findBare(rest);
    if (found !== undefined) return found;
  }
  return undefined;
}

function findInExpression(text: string): string | undefined {
  for (const [, inner = ''] of text.matchAll(/[$]?\{([^{}\n]{1,200})\}/g)) {
    const word = /^\s*([A-Za-z_]\w*)\s*$/.exec(inner)?.[1];
    if (word !== undefined && isSecretName(word)) return word;
  }
  return undefined;
}

/** Names outside of quotes, as far as the line shows: a name, or `$name` of Bash also in double quotes. */
function findBare(rest: string): string | undefined {
  for (const [, name = ''] of rest.matchAll(/\$([A-Za-z_]\w*)/g)) if (isSecretName(name)) return name;
  // bounded: the rest of the call has at most 500 characters
  const bare = rest.replaceAll(/"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'/g, ' ');
  const argument =
    /^\s*(?:str\s*\(\s*)?([A-Za-z_]\w*)\s*[,)]/.exec(bare)?.[1] ??
    /[,+]\s*([A-Za-z_]\w*)\s*\)/.exec(bare)?.[1];
  return argument !== undefined && isSecretName(argument) ? argument : undefined;
}
