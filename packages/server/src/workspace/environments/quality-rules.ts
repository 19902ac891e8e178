/** The rules of the quality gate of an environment. */
import { type QualityRule, qualityRulesCharacters } from '@headgate/contract';
import { readRuleSettings, renderRulesFile } from '@headgate/pipelines';
import { invalidRequest, problem, withViolations } from '../../kernel/http/problems.ts';

const member = 'qualityGateRules';
const violationLimit = 100;

/** Null if the rules files of versions count. Throws `quality-rules-refused`. */
export async function readQualityRules(rules: readonly QualityRule[] = []): Promise<QualityRule[] | null> {
  if (rules.length === 0) return null;
  const place = { field: `body.${member}`, pointer: `/body/${member}` };
  const file = renderRulesFile(member, rules);
  const { length } = file.text;
  if (length > qualityRulesCharacters) {
    const detail = `has ${length} characters as JSON; the limit is ${qualityRulesCharacters}`;
    throw invalidRequest([{ ...place, detail }]);
  }
  const { faults } = await readRuleSettings([file]);
  if (faults.length === 0) return [...rules];
  // The file has one rule in each line.
  const violations = faults.slice(0, violationLimit).map(({ line, message: detail }) => ({
    ...{ field: `${place.field}[${line - 2}]`, pointer: `${place.pointer}/${line - 2}` },
    detail,
  }));
  throw withViolations(problem('quality-rules-refused', { faults: faults.length }), violations);
}
