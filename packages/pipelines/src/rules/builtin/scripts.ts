/** The rule about scripts that build commands of a shell from variables. */
import { listTexts, type ReviewedComponent } from '../facts/reviewed-pipeline.ts';
import { type PipelineRule, quote } from './rule.ts';

/** Calls that run a shell, by the rest of their line. */
const shellCall =
  /\b(?:os\.(?:system|popen)|commands\.getoutput|subprocess\.(?:getoutput|getstatusoutput))\s*\(([^\n]{0,400})|\bsubprocess\.(?:run|call|check_call|check_output|Popen)\s*\(([^\n]{0,400})/g;
/** A text with values in it: an f-string, `%`, `+` or format. */
const isBuilt = /^\s*[rR]?[fF]["']|["']\s*(?:%|\+)\s*[\w(]|\+\s*["']|\.format\s*\(|\$\{/;
/** A plain name, which is not known to be constant. */
const isVariable = /^\s*[A-Za-z_][\w.]*\s*[,)]/;
const bashCall = /(?:^|[;&|]|\b(?:then|do|else)\b)[ \t]*(?:eval|(?:ba|z|k)?sh\s+-c)\s([^\n]{0,400})/gm;

export const shellVariables: PipelineRule = {
  id: 'shell-variables',
  scope: 'pipeline',
  title: 'Scripts do not build commands from variables',
  level: 'WARNING',
  reason:
    'A variable in the text of a command is read by the shell: a file named `a; rm -r *` becomes two commands. The source of the variable decides what runs.',
  remedy:
    'Pass a list of arguments (`subprocess.run(["cp", source, target])`), or use the variable without `eval`.',
  parameters: {},
  bad: `type: orchestration
pipeline:
  components:
    Start: {type: start, transitions: {unconditional: [Copy]}}
    Copy:
      type: python-script
      parameters:
        script: |
          import os
          os.system(f"cp {source} target")
  variables:
    source: {metadata: {type: TEXT}}`,
  good: `type: orchestration
pipeline:
  components:
    Start: {type: start, transitions: {unconditional: [Copy]}}
    Copy:
      type: python-script
      parameters:
        script: |
          import subprocess
          subprocess.run(["cp", source, "target"], check=True)
  variables:
    source: {metadata: {type: TEXT}}`,
  check({ components }, report) {
    for (const component of components) {
      const found = findCall(component);
      if (found === undefined) continue;
      const message = `the script of ${quote(component.name)} gives a shell a command with variables in it (${quote(found.trim())}): pass a list of arguments`;
      report({ component: component.name, message });
    }
  },
};

const scriptTypes: ReadonlySet<string> = new Set(['python-script', 'python-pushdown', 'bash-script']);

function findCall({ type, parameters }: ReviewedComponent): string | undefined {
  if (!scriptTypes.has(type)) return undefined;
  for (const { text } of listTexts(parameters)) {
    const found = type === 'bash-script' ? findInBash(text) : findInPython(text);
    if (found !== undefined) return found;
  }
  return undefined;
}

function findInBash(text: string): string | undefined {
  for (const [whole, rest = ''] of text.matchAll(bashCall)) if (/\$[A-Za-z_{]/.test(rest)) return whole;
  return undefined;
}

function findInPython(text: string): string | undefined {
  for (const { 0: whole, 1: shell, 2: process = '', index } of text.matchAll(shellCall)) {
    const lineStart = text.lastIndexOf('\n', index) + 1;
    if (text.slice(lineStart, index).trimStart().startsWith('#')) continue;
    // The call of subprocess may go on in the next lines.
    const usesShell =
      shell !== undefined || /shell\s*=\s*True/.test(text.slice(index, index + 1_000).split('\n\n')[0] ?? '');
    const argument = shell ?? process;
    if (usesShell && (isBuilt.test(argument) || isVariable.test(argument))) return whole;
  }
  return undefined;
}
