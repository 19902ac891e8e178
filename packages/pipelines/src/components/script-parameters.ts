/** What the components that run scripts have in common. */
import { ParameterError, type Parameters } from '../expressions/parameters.ts';
import type { ScriptSource } from './definition/component.ts';
import { choiceParameter, textParameter } from './definition/declared-parameters.ts';

export const scriptPlaceParameters = {
  scriptLocation: choiceParameter(
    'Where the script is: in the component, or a file of the version.',
    ['Component', 'File'],
    {
      standard: 'Component',
    },
  ),
  fileName: textParameter('The path of the file, if the script is one.', { file: true }),
};

/** The text in `parameter`, or the file in `fileName`. @throws ParameterError */
export function readScriptSource(parameters: Parameters, parameter: string): ScriptSource {
  const isFile = parameters.choice('scriptLocation', { Component: false, File: true }, false);
  return isFile ? { file: parameters.text('fileName') } : { text: parameters.text(parameter) };
}

/** Seconds; undefined: the agent's limit. @throws ParameterError */
export function readTimeout(parameters: Parameters, parameter: string): number | undefined {
  const seconds = parameters.optionalInteger(parameter);
  if (seconds !== undefined && seconds < 1)
    throw new ParameterError(`"${parameter}" is ${seconds}: write a number of seconds, such as 300`);
  return seconds;
}
