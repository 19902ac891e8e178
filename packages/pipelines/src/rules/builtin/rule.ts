/**
 * A rule of the quality review: what it finds in pipelines, and what its page in the documentation says.
 *
 * - **pipeline rule**: reads one file.
 * - **project rule**: reads the facts of all files, such as calls and tables, and what the server knows.
 * - **level**: a review with a finding of the level ERROR is FAILED. The rules file of a version may change it.
 * - **fix**: the steps that mend the file, as JSON Patch (RFC 6902) over the parsed YAML. Only mechanical changes have
 *   one.
 */
import type { Plain } from '../../format/pipeline.ts';
import type { ProjectFacts, ServerFacts } from '../facts/pipeline-facts.ts';
import type { ReviewedPipeline } from '../facts/reviewed-pipeline.ts';

export const ruleLevels = ['ERROR', 'WARNING', 'INFO'] as const;
export type RuleLevel = (typeof ruleLevels)[number];

export type FixStep =
  | { readonly op: 'remove'; readonly path: string }
  | { readonly op: 'replace'; readonly path: string; readonly value: Plain };

/** What a rule reports. `at`: keys below the component, or from the root of the file without one. */
export interface RuleDraft {
  readonly component?: string;
  readonly at?: readonly string[];
  readonly message: string;
  readonly fix?: readonly FixStep[];
}
export type ReportDraft = (draft: RuleDraft) => void;

export interface RuleFinding {
  rule: string;
  level: RuleLevel;
  message: string;
  component?: string;
  /** Counts from 1. */
  line: number;
  fix?: readonly FixStep[];
}

export type RuleParameter =
  | {
      readonly kind: 'integer';
      readonly about: string;
      readonly standard: number;
      readonly least: number;
      readonly most: number;
    }
  /** A regular expression in the syntax of RE2, which must match a whole text. */
  | { readonly kind: 'pattern'; readonly about: string; readonly standard: string }
  | { readonly kind: 'words'; readonly about: string; readonly standard: readonly string[] };

/** The values of a rule's parameters. */
export interface RuleOptions {
  integer(name: string): number;
  matches(name: string, text: string): boolean;
  pattern(name: string): string;
  words(name: string): readonly string[];
}

/** One pipeline file as text, or several by path with what the server knows. */
export type RuleExample =
  | string
  | { readonly files: Readonly<Record<string, string>>; readonly server?: ServerFacts };

interface RuleFrame {
  readonly id: string;
  /** What must hold, as a short sentence without a period. */
  readonly title: string;
  readonly level: RuleLevel;
  /** It is applied only if the rules file enables it. */
  readonly isOptional?: true;
  /** Why it matters, in Markdown. */
  readonly reason: string;
  /** What to do about a finding. */
  readonly remedy: string;
  readonly parameters: Readonly<Record<string, RuleParameter>>;
  /** It is found in this one. */
  readonly bad: RuleExample;
  /** It is not found in this one. */
  readonly good: RuleExample;
  /** What the fix of a finding does; absent if there is none. */
  readonly fixes?: string;
}

export interface PipelineRule extends RuleFrame {
  readonly scope: 'pipeline';
  check(pipeline: ReviewedPipeline, report: ReportDraft, options: RuleOptions): void;
}

/** `line`: of the finding in its file. */
export type ReportProjectFinding = (
  path: string,
  finding: { component?: string; line: number; message: string },
) => void;

export interface ProjectRule extends RuleFrame {
  readonly scope: 'project';
  check(project: ProjectFacts, report: ReportProjectFinding, options: RuleOptions): void;
}

export type Rule = PipelineRule | ProjectRule;

/** A JSON Pointer to the value at a path of keys. */
export function createPointer(path: readonly (string | number)[]): string {
  return path.map((key) => `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

export const quote = (text: string) => `"${text.length <= 80 ? text : `${text.slice(0, 80)}…`}"`;

/** The first names of a list, for a message. */
export function listNames(names: readonly string[], most = 3): string {
  const shown = names.slice(0, most).map(quote).join(', ');
  return names.length <= most ? shown : `${shown} and ${names.length - most} more`;
}
