/** Reads the rules file of a version: which rules are on, their levels and parameters, and its own rules. */
import { findNearestName } from '../format/nearest.ts';
import type { Plain, PlainMap } from '../format/pipeline.ts';
import { readYaml, YamlError, type YamlTree } from '../format/yaml-tree.ts';
import { findRule, rules } from './builtin/registry.ts';
import { quote, type RuleLevel, type RuleOptions } from './builtin/rule.ts';
import { getMap } from './facts/reviewed-pipeline.ts';
import { readOptions } from './rule-options.ts';

/** Where a version keeps its rules. Of an entry in both files the one in the second file counts. */
export const rulesFilePaths = [
  '.matillion/config/pipeline_quality_rules.yaml',
  'headgate-rules.yaml',
] as const;

/** Characters of a rules file. */
export const rulesFileLimit = 262_144;
const entryLimit = 500;
const ownRuleLimit = 50;
const expressionLimit = 4_096;
const textLimit = 500;

export interface RulesFile {
  path: string;
  /** Undefined: the file is too large, and was not read. */
  text: string | undefined;
}

/** Rules as a file, with one of them in each line from the second one on. */
export function renderRulesFile(path: string, entries: readonly object[]): { path: string; text: string } {
  // JSON is YAML.
  return { path, text: ['rules:', ...entries.map((entry) => `- ${JSON.stringify(entry)}`)].join('\n') };
}

/** Bytes of a rules file within its limit. */
export const rulesFileBytesLimit = 4 * rulesFileLimit;

export interface RuleSetting {
  readonly level: RuleLevel;
  readonly options: RuleOptions;
}

/** A rule of the version itself. */
export interface OwnRule {
  readonly id: string;
  readonly level: RuleLevel;
  readonly expression: string;
  readonly message: string;
  readonly file: string;
  readonly line: number;
}

export interface RulesFault {
  file: string;
  line: number;
  message: string;
  level: RuleLevel;
}

export interface RuleSettings {
  /** The rules that are on, by id. */
  readonly enabled: ReadonlyMap<string, RuleSetting>;
  readonly own: readonly OwnRule[];
  readonly faults: readonly RulesFault[];
}

/** What is wrong with a file is a fault; the rest of it counts. */
export async function readRuleSettings(files: readonly RulesFile[]): Promise<RuleSettings> {
  const enabled = new Map<string, RuleSetting>();
  for (const rule of rules)
    if (rule.isOptional !== true)
      enabled.set(rule.id, {
        level: rule.level,
        options: await readOptions(rule, undefined, () => undefined),
      });
  const own = new Map<string, OwnRule>();
  const faults: RulesFault[] = [];
  for (const { path, text } of files) await readFile({ path, text }, { enabled, own, faults });
  return { enabled, own: [...own.values()], faults };
}

interface Gathered {
  enabled: Map<string, RuleSetting>;
  own: Map<string, OwnRule>;
  faults: RulesFault[];
}

async function readFile({ path, text }: RulesFile, gathered: Gathered): Promise<void> {
  const fail = (line: number, message: string, level: RuleLevel = 'ERROR') =>
    gathered.faults.push({ file: path, line, message, level });
  if (text === undefined || text.length > rulesFileLimit) {
    fail(1, `the rules file has more than ${rulesFileLimit} characters: shorten it`);
    return;
  }
  let tree: YamlTree;
  try {
    tree = readYaml(text);
  } catch (error) {
    if (!(error instanceof YamlError)) throw error;
    fail(
      error.line,
      `the rules file cannot be read: line ${error.line}, column ${error.column}: ${error.message}: correct it`,
    );
    return;
  }
  if (tree.value === null || tree.value === '') return;
  const root = getMap(tree.value);
  for (const member of Object.keys(root))
    if (member !== 'rules')
      fail(tree.locate([member]).line, `the rules file has no member ${quote(member)}: use "rules"`);
  const entries = root.rules ?? (Object.keys(root).length === 0 ? undefined : []);
  if (!Array.isArray(entries)) {
    fail(1, '"rules" must be a list, such as rules: [{id: select-star, enabled: true}]');
    return;
  }
  if (entries.length > entryLimit)
    fail(1, `the rules file has ${entries.length} rules; the limit is ${entryLimit}: remove some`);
  const lines = findEntryLines(text, entries.length);
  for (const [index, entry] of entries.slice(0, entryLimit).entries())
    await readEntry(getMap(entry as Plain), { path, line: lines[index] ?? 1, fail }, gathered);
}

/** The lines of the entries, by their ids in the order of the file. */
function findEntryLines(text: string, count: number): number[] {
  const lines: number[] = [];
  for (const [index, line] of text.split('\n').entries()) {
    if (/^[ \t]*-[ \t{]/.test(line) || /^[ \t]*-$/.test(line)) lines.push(index + 1);
    if (lines.length === count) break;
  }
  return lines;
}

interface Entry {
  path: string;
  line: number;
  fail(line: number, message: string, level?: RuleLevel): void;
}

const levels: Readonly<Record<string, RuleLevel>> = {
  error: 'ERROR',
  warn: 'WARNING',
  warning: 'WARNING',
  info: 'INFO',
};

const members = ['id', 'enabled', 'enforcementLevel', 'config', 'title', 'expression', 'message'];

async function readEntry(map: PlainMap, { path, line, fail }: Entry, gathered: Gathered): Promise<void> {
  const { id } = map;
  if (typeof id !== 'string' || !/^[a-z0-9][a-z0-9-]{0,63}$/.test(id)) {
    fail(line, 'a rule needs an "id" of lower-case letters, digits and hyphens, such as id: select-star');
    return;
  }
  const unknown = Object.keys(map).find((member) => !members.includes(member));
  if (unknown !== undefined)
    fail(
      line,
      `the rule ${quote(id)} has the member ${quote(unknown)}, which is not known: use ${members.join(', ')}`,
    );
  const isEnabled = readEnabled(map.enabled);
  if (isEnabled === undefined) fail(line, `"enabled" of the rule ${quote(id)} must be true or false`);
  const level =
    map.enforcementLevel === undefined ? undefined : levels[String(map.enforcementLevel).toLowerCase()];
  if (map.enforcementLevel !== undefined && level === undefined)
    fail(
      line,
      `"enforcementLevel" of the rule ${quote(id)} is ${quote(String(map.enforcementLevel))}: use error, warn or info`,
    );
  const rule = findRule(id);
  if (map.expression !== undefined) {
    readOwnRule(
      id,
      map,
      { path, line, fail, level: level ?? 'WARNING', isEnabled: isEnabled !== false },
      gathered,
    );
    return;
  }
  if (rule === undefined) {
    const nearest = findNearestName(
      id,
      rules.map((each) => each.id),
    );
    const remedy =
      nearest === undefined ? 'correct the id, or give it an expression' : `did you mean ${quote(nearest)}?`;
    fail(line, `there is no rule ${quote(id)}: ${remedy}`, 'WARNING');
    return;
  }
  if (isEnabled === false) {
    gathered.enabled.delete(id);
    return;
  }
  const options = await readOptions(rule, map.config, (message) => fail(line, message));
  gathered.enabled.set(id, { level: level ?? rule.level, options });
}

/** Absent: true. */
function readEnabled(value: Plain | undefined): boolean | undefined {
  if (value === undefined) return true;
  const word = String(value).toLowerCase();
  return word === 'true' || word === 'yes' ? true : word === 'false' || word === 'no' ? false : undefined;
}

function readOwnRule(
  id: string,
  map: PlainMap,
  { path, line, fail, level, isEnabled }: Entry & { level: RuleLevel; isEnabled: boolean },
  { own }: Gathered,
): void {
  const fault = findOwnFault(id, map.expression, own);
  if (fault !== undefined) {
    fail(line, fault);
    return;
  }
  const words = [map.message, map.title].find((each) => typeof each === 'string' && each !== '');
  const message = String(words ?? `the rule ${id} is broken`).slice(0, textLimit);
  own.delete(id);
  if (isEnabled) own.set(id, { id, level, expression: String(map.expression), message, file: path, line });
}

function findOwnFault(
  id: string,
  expression: Plain | undefined,
  own: ReadonlyMap<string, OwnRule>,
): string | undefined {
  if (findRule(id) !== undefined)
    return `${quote(id)} is the id of a built-in rule: give your own rule another id`;
  if (typeof expression !== 'string' || expression.trim() === '')
    return `"expression" of the rule ${quote(id)} must be a text with JavaScript`;
  if (expression.length > expressionLimit)
    return `the expression of the rule ${quote(id)} has ${expression.length} characters; the limit is ${expressionLimit}: shorten it`;
  if (!own.has(id) && own.size >= ownRuleLimit)
    return `a version has at most ${ownRuleLimit} rules of its own: remove ${quote(id)} or another one`;
  return undefined;
}
