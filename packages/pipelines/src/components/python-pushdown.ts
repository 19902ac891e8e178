/** Runs a Python script that works on the project's warehouse. */
import type { OrchestrationDefinition } from './definition/component.ts';
import { namesParameter, numberParameter, textParameter } from './definition/declared-parameters.ts';
import { readScriptSource, readTimeout, scriptPlaceParameters } from './script-parameters.ts';

export const pythonPushdown: OrchestrationDefinition = {
  kind: 'orchestration',
  warehouse: true,
  about:
    'Runs a Python script on the agent. `session.sql(text).collect()` runs SQL on the project’s warehouse; `context` is as in `python-script`. A script that defines `main(session)` and does not call it is called; what it returns is the step’s message. The script is confined: see [scripts](../scripts.md).',
  group: 'scripts',
  parameters: {
    pythonScript: textParameter('The script.', { raw: true, script: true, otherNames: ['script'] }),
    ...scriptPlaceParameters,
    packages: namesParameter('Python packages that must be installed on the agent.'),
    packagesGrid: namesParameter('More of them.'),
    scriptTimeout: numberParameter('Seconds after which the script is killed.', { otherNames: ['timeout'] }),
  },
  noEffect: ['warehouse', 'pythonVersion', 'externalAccessIntegrations', 'imports', 'secrets'],
  example: `type: python-pushdown
parameters:
  pythonScript: |
    rows = session.sql("SELECT count(*) AS orders FROM orders").collect()
    context.updateVariable("orders", rows[0]["ORDERS"])
  scriptTimeout: "300"`,
  plan({ parameters }) {
    return {
      action: 'run-script',
      language: 'python',
      source: readScriptSource(parameters, 'pythonScript'),
      packages: [...parameters.names('packages'), ...parameters.names('packagesGrid')],
      timeoutSeconds: readTimeout(parameters, 'scriptTimeout'),
    };
  },
};
