/** The pages of the documentation that are written from the rules, as Markdown. */
import { ruleGroups, rules } from '../rules/builtin/registry.ts';
import type { Rule, RuleExample, RuleParameter } from '../rules/builtin/rule.ts';

const notice = '<!-- Written by `npm run generate` from the rule. Do not edit. -->';

/** All pages, by file name. */
export function renderRulePages(): ReadonlyMap<string, string> {
  return new Map([
    ['README.md', renderIndex()],
    ...rules.map((rule) => [`${rule.id}.md`, renderPage(rule)] as const),
  ]);
}

function renderIndex(): string {
  const sections = Object.entries(ruleGroups).map(([group, members]) => {
    const rows = members.map(
      (rule) =>
        `| [\`${rule.id}\`](${rule.id}.md) | ${rule.level}${rule.isOptional === true ? ', if enabled' : ''} | ${rule.title} |`,
    );
    return `## ${group}\n\n| rule | level | what must hold |\n|---|---|---|\n${rows.join('\n')}`;
  });
  return `${notice}

# Rules of the quality review

A review with a finding of the level ERROR is FAILED. [Quality review](../quality-review.md) says how to review a version, and how its rules
file changes levels and parameters, switches rules off, and adds your own.

${sections.join('\n\n')}
`;
}

function renderPage(rule: Rule): string {
  const { id, title, level, reason, remedy, parameters, bad, good, fixes, isOptional } = rule;
  const standard = isOptional === true ? ' It is applied only if the rules file enables it.' : '';
  return `${[
    notice,
    `# ${id}`,
    `${title}. Level: ${level}.${standard}`,
    `## Why\n\n${reason}`,
    `## What to do\n\n${remedy}${fixes === undefined ? '' : `\n\nA finding has a \`fix\`, which ${fixes}.`}`,
    `## Examples\n\nFound:\n\n${renderExample(bad)}\n\nNot found:\n\n${renderExample(good)}`,
    renderParameters(parameters),
    `\`\`\`yaml\n${renderEntry(rule)}\n\`\`\``,
    '[All rules](README.md) · [Quality review](../quality-review.md)',
  ].join('\n\n')}\n`;
}

/** Lines of an example that are shown. */
const shownLines = 30;

function renderExample(example: RuleExample): string {
  if (typeof example === 'string') return renderFile(example);
  const files = Object.entries(example.files).map(([path, text]) => `\`${path}\`:\n\n${renderFile(text)}`);
  const schedules = (example.server?.schedules ?? []).map(
    ({ name, pipelineName, environmentName, hasAlert }) =>
      `The schedule \`${name}\` runs \`${pipelineName}\` in \`${environmentName}\`; ${hasAlert ? 'an alert rule' : 'no alert rule'} tells about its failures.`,
  );
  return [...files, ...schedules].join('\n\n');
}

function renderFile(text: string): string {
  const lines = text.trimEnd().split('\n');
  const shown =
    lines.length <= shownLines
      ? lines
      : [...lines.slice(0, shownLines - 1), `# … ${lines.length - shownLines + 1} more lines like this`];
  return `\`\`\`yaml\n${shown.join('\n')}\n\`\`\``;
}

function renderParameters(parameters: Rule['parameters']): string {
  const entries = Object.entries(parameters);
  if (entries.length === 0) return '## In the rules file\n\nThe rule has no parameters.';
  const rows = entries.map(
    ([name, parameter]) => `| \`${name}\` | ${describeValue(parameter)} | ${escapeCell(parameter.about)} |`,
  );
  return `## In the rules file\n\n| parameter | value | meaning |\n|---|---|---|\n${rows.join('\n')}`;
}

function describeValue(parameter: RuleParameter): string {
  if (parameter.kind === 'integer')
    return `${parameter.least} to ${parameter.most}; default ${parameter.standard}`;
  if (parameter.kind === 'pattern')
    return `regular expression; default \`${escapeCell(parameter.standard)}\``;
  const { standard } = parameter;
  return `list of texts; default ${standard.length === 0 ? 'none' : standard.map((each) => `\`${each}\``).join(', ')}`;
}

const escapeCell = (text: string) => text.replaceAll('|', '\\|').replaceAll('\n', ' ');

const words = { ERROR: 'error', WARNING: 'warn', INFO: 'info' } as const;

function renderEntry({ id, level, parameters }: Rule): string {
  const config = Object.entries(parameters).map(
    ([name, { standard }]) => `    ${name}: ${JSON.stringify(standard)}`,
  );
  return [
    'rules:',
    `- id: ${id}`,
    '  enabled: true',
    `  enforcementLevel: ${words[level]}`,
    ...(config.length === 0 ? [] : ['  config:', ...config]),
  ].join('\n');
}
