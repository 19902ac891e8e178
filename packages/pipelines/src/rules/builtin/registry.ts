/** All rules, in the order of the documentation. A new rule is a value in one of these files and an entry here. */
import { maximumDepth, schedulesWithoutAlert } from './calls.ts';
import { cartesianJoins } from './cartesian-joins.ts';
import { componentDescription, pipelineDescription, variableDescription } from './descriptions.ts';
import { failurePath, silentFailurePath } from './failure-paths.ts';
import { hardCodedAddresses, hardCodedDatabases, hardCodedDates, hardCodedSchemas } from './hard-coded.ts';
import { sharedInConcurrentWork, unboundedIterators } from './iterators.ts';
import { joinTypes } from './join-types.ts';
import {
  disabledComponents,
  duplicateComponents,
  endOutputs,
  maximumComponents,
  maximumOutputs,
  minimumComponents,
  startAndEnd,
  unusedComponents,
} from './layout.ts';
import { componentNames, defaultNames, pipelineNames, variableNames } from './names.ts';
import { missingGrouping, nullComparisons, selectStar } from './queries.ts';
import type { Rule } from './rule.ts';
import { shellVariables } from './scripts.ts';
import { plainSecrets, secretPrints } from './secrets.ts';
import { copiedVariables, unusedVariables, variablesBeforeSet } from './variables.ts';
import { emptiedBeforeLoad, retriedEffects, twoWriters, updateWithoutKey } from './writes.ts';

/** The rules by what they are about, as the documentation lists them. */
export const ruleGroups: Readonly<Record<string, readonly Rule[]>> = {
  'Names and descriptions': [
    pipelineNames,
    componentNames,
    variableNames,
    defaultNames,
    pipelineDescription,
    variableDescription,
    componentDescription,
  ],
  Variables: [unusedVariables, variablesBeforeSet, sharedInConcurrentWork, copiedVariables],
  'Secrets and scripts': [plainSecrets, secretPrints, shellVariables],
  Components: [
    duplicateComponents,
    unusedComponents,
    disabledComponents,
    maximumComponents,
    minimumComponents,
    maximumOutputs,
    endOutputs,
    startAndEnd,
  ],
  'Failures and repetitions': [
    failurePath,
    silentFailurePath,
    retriedEffects,
    emptiedBeforeLoad,
    unboundedIterators,
    schedulesWithoutAlert,
  ],
  Queries: [selectStar, cartesianJoins, joinTypes, missingGrouping, nullComparisons, updateWithoutKey],
  Environments: [hardCodedDatabases, hardCodedSchemas, hardCodedDates, hardCodedAddresses],
  'The whole project': [twoWriters, maximumDepth],
};

export const rules: readonly Rule[] = Object.values(ruleGroups).flat();

const byId = new Map(rules.map((rule) => [rule.id, rule]));

export function findRule(id: string): Rule | undefined {
  return byId.get(id);
}
