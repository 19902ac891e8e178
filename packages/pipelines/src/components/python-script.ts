/** Runs a Python script on the agent, confined. */
import { ParameterError } from '../expressions/parameters.ts';
import type { OrchestrationDefinition } from './definition/component.ts';
import { numberParameter, textParameter } from './definition/declared-parameters.ts';
import { readScriptSource, readTimeout, scriptPlaceParameters } from './script-parameters.ts';

export const pythonScript: OrchestrationDefinition = {
  kind: 'orchestration',
  about:
    'Runs a Python script on the agent. Scalar variables are globals of the script; `context` changes variables and reads grids. The script is confined: see [scripts](../scripts.md).',
  group: 'scripts',
  parameters: {
    script: textParameter('The script.', {
      raw: true,
      script: true,
      otherNames: ['script1', 'pythonScript'],
    }),
    ...scriptPlaceParameters,
    interpreter: textParameter('The interpreter, which is `Python 3`.', { standard: 'Python 3' }),
    timeout: numberParameter('Seconds after which the script is killed.', { otherNames: ['scriptTimeout'] }),
  },
  noEffect: ['user'],
  example: `type: python-script
parameters:
  script: |
    total = first + second
    context.updateVariable("total", total)
    print(f"the total is {total}")
  interpreter: Python 3
  timeout: "300"`,
  plan({ parameters }) {
    const interpreter = parameters.optionalText('interpreter') ?? 'Python 3';
    if (!/^\s*python\s*3/i.test(interpreter))
      throw new ParameterError(
        `"interpreter" is "${interpreter}", which agents do not have: use Python 3 and adapt the script`,
      );
    return {
      action: 'run-script',
      language: 'python',
      source: readScriptSource(parameters, 'script'),
      packages: [],
      timeoutSeconds: readTimeout(parameters, 'timeout'),
    };
  },
};
