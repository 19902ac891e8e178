/**
 * The quality review of a project: first each file, then the rules about several files. Both steps are bounded, and
 * can run in a thread.
 */
import { findingMessageLimit } from '../format/bounds.ts';
import { describeSyntaxError, parsePipeline } from '../format/parse.ts';
import { findRule } from './builtin/registry.ts';
import type { RuleFinding, RuleLevel } from './builtin/rule.ts';
import { collectFacts, type PipelineFacts, type ServerFacts } from './facts/pipeline-facts.ts';
import { createReviewedPipeline } from './facts/reviewed-pipeline.ts';
import { applyOwnRules } from './own-rules.ts';
import type { RuleSettings } from './rule-settings.ts';

/** Findings kept of one pipeline. */
export const reviewFindingLimit = 500;

export interface FileReview {
  findings: RuleFinding[];
  /** Undefined if the file cannot be read. */
  facts?: PipelineFacts;
  /** Ids of own rules whose expression failed, with the reason. They need not be tried on other files. */
  failures: { rule: string; file: string; line: number; level: RuleLevel; message: string }[];
}

/** The rule of findings about files that cannot be reviewed. */
export const unreadableRule = 'unreadable-file';
/** The rule of findings about the rules file. */
export const rulesFileRule = 'rules-file';

export function createUnreadableReview(message: string, line = 1): FileReview {
  const text = `the pipeline cannot be read: ${message}: correct the file`.slice(0, findingMessageLimit);
  return { findings: [{ rule: unreadableRule, level: 'ERROR', message: text, line }], failures: [] };
}

/** @param skipped own rules that failed on an earlier file */
export async function reviewFile(
  path: string,
  text: string,
  settings: RuleSettings,
  skipped: ReadonlySet<string> = new Set(),
): Promise<FileReview> {
  const { pipeline, value, lineOf, error } = parsePipeline(path, text);
  if (pipeline === undefined) return createUnreadableReview(describeSyntaxError(error), error.line);
  const reviewed = createReviewedPipeline(pipeline, value, lineOf);
  const findings: RuleFinding[] = [];
  let beyond = 0;
  let hasErrorBeyond = false;
  const add = (finding: RuleFinding) => {
    const isListed = findings.length < reviewFindingLimit;
    if (!isListed) beyond += 1;
    if (!isListed) hasErrorBeyond ||= finding.level === 'ERROR';
    else findings.push({ ...finding, message: finding.message.slice(0, findingMessageLimit) });
  };
  for (const [id, { level, options }] of settings.enabled) {
    const rule = findRule(id);
    if (rule?.scope !== 'pipeline') continue;
    rule.check(
      reviewed,
      ({ component, at = [], message, fix }) => {
        const place = component === undefined ? at : ['pipeline', 'components', component, ...at];
        add({
          ...{ rule: id, level, message, line: lineOf(place) },
          ...(component === undefined ? {} : { component }),
          ...(fix === undefined ? {} : { fix }),
        });
      },
      options,
    );
  }
  const own = await applyOwnRules(settings.own, reviewed, skipped);
  for (const { rule, component, message } of own.findings) {
    const line = component === undefined ? 1 : lineOf(['pipeline', 'components', component]);
    add({
      rule: rule.id,
      level: rule.level,
      message,
      line,
      ...(component === undefined ? {} : { component }),
    });
  }
  if (beyond > 0) {
    const message = `${beyond} more findings are not listed: correct the listed ones first`;
    findings.push({ rule: 'more-findings', level: hasErrorBeyond ? 'ERROR' : 'WARNING', message, line: 1 });
  }
  const failures = own.failures.map(({ rule, message }) => ({
    ...{ rule: rule.id, file: rule.file, line: rule.line, level: 'ERROR' as const },
    message: `the expression of the rule "${rule.id}" failed on ${path}: ${message}`.slice(
      0,
      findingMessageLimit,
    ),
  }));
  return { findings, facts: collectFacts(reviewed), failures };
}

/** Findings about several files, by the path of the pipeline. */
export function reviewProject(
  facts: readonly PipelineFacts[],
  server: ServerFacts | undefined,
  settings: RuleSettings,
): Map<string, RuleFinding[]> {
  const pipelines = new Map(facts.map((each) => [each.path, each]));
  const found = new Map<string, RuleFinding[]>();
  for (const [id, { level, options }] of settings.enabled) {
    const rule = findRule(id);
    if (rule?.scope !== 'project') continue;
    rule.check(
      { pipelines, server },
      (path, { component, line, message }) => {
        const findings = found.get(path) ?? [];
        const finding = {
          ...{ rule: id, level, message: message.slice(0, findingMessageLimit), line },
          ...(component === undefined ? {} : { component }),
        };
        // An error always has a place: the result of the review depends on it.
        const place = findings.findIndex((each) => each.level !== 'ERROR');
        if (findings.length < reviewFindingLimit) findings.push(finding);
        else if (level === 'ERROR' && place >= 0) findings[place] = finding;
        found.set(path, findings);
      },
      options,
    );
  }
  return found;
}
