/** Runs a Bash script on the agent, confined. */
import type { OrchestrationDefinition } from './definition/component.ts';
import { numberParameter, textParameter } from './definition/declared-parameters.ts';
import { readScriptSource, readTimeout, scriptPlaceParameters } from './script-parameters.ts';

export const bashScript: OrchestrationDefinition = {
  kind: 'orchestration',
  about:
    'Runs a Bash script on the agent. Scalar variables are in its environment, and its exit status decides whether the component succeeds. The script is confined: see [scripts](../scripts.md).',
  group: 'scripts',
  parameters: {
    script: textParameter('The script.', { raw: true, script: true, otherNames: ['script1'] }),
    ...scriptPlaceParameters,
    timeout: numberParameter('Seconds after which the script is killed.', { otherNames: ['scriptTimeout'] }),
  },
  noEffect: ['user'],
  example: `type: bash-script
parameters:
  script: |
    set -e
    echo "loading $region"
  timeout: "300"`,
  plan({ parameters }) {
    return {
      action: 'run-script',
      language: 'bash',
      source: readScriptSource(parameters, 'script'),
      packages: [],
      timeoutSeconds: readTimeout(parameters, 'timeout'),
    };
  },
};
