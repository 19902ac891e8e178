/** The work of the thread that reviews: one pipeline file, or what concerns several. */
import {
  type FileReview,
  type PipelineFacts,
  type RuleFinding,
  type RulesFault,
  type RulesFile,
  readRuleSettings,
  reviewFile,
  reviewProject,
  type ServerFacts,
} from '@headgate/pipelines';

export type ReviewOrder =
  | { of: 'file'; path: string; text: string; rules: readonly RulesFile[]; skipped: readonly string[] }
  | {
      of: 'project';
      facts: readonly PipelineFacts[];
      server: ServerFacts | undefined;
      rules: readonly RulesFile[];
    };

export type ReviewPart =
  | ({ of: 'file' } & FileReview)
  | { of: 'project'; faults: readonly RulesFault[]; findings: readonly (readonly [string, RuleFinding[]])[] };

/** The settings of the last rules files: those of the next file are mostly the same. */
let last: { key: string; settings: ReturnType<typeof readRuleSettings> } | undefined;

function readSettings(rules: readonly RulesFile[]): ReturnType<typeof readRuleSettings> {
  const key = JSON.stringify(rules);
  if (last?.key !== key) last = { key, settings: readRuleSettings(rules) };
  return last.settings;
}

export async function carryOut(order: ReviewOrder): Promise<ReviewPart> {
  const settings = await readSettings(order.rules);
  if (order.of === 'file')
    return { of: 'file', ...(await reviewFile(order.path, order.text, settings, new Set(order.skipped))) };
  const findings = [...reviewProject(order.facts, order.server, settings)];
  return { of: 'project', faults: settings.faults, findings };
}
