#!/usr/bin/env node
// The feature-list Stop hook in Node, as a careful engineer would write it: the yardstick for ours.
'use strict';

const fs = require('fs');
const path = require('path');

const TAIL_BYTES = 65536;

function lastMessage(transcript) {
  let file;
  try {
    file = fs.openSync(transcript, 'r');
  } catch {
    return '';
  }
  try {
    const size = fs.fstatSync(file).size;
    const tail = Buffer.alloc(Math.min(size, TAIL_BYTES));
    fs.readSync(file, tail, 0, tail.length, size - tail.length);
    return lastText(tail.toString('utf8').split('\n'));
  } finally {
    fs.closeSync(file);
  }
}

function lastText(lines) {
  for (let n = lines.length - 1; n >= 0; n -= 1) {
    let entry;
    try {
      entry = JSON.parse(lines[n]);
    } catch {
      continue; // empty, or the line in which the tail begins
    }
    if (entry?.type !== 'assistant') continue;
    const texts = (entry.message?.content ?? []).filter((block) => block.type === 'text');
    if (texts.length > 0) return texts[texts.length - 1].text;
  }
  return '';
}

function numberAfter(label, text, otherwise) {
  const match = text.match(new RegExp(`^${label}:\\s*(\\d+)`, 'm'));
  return match ? Number(match[1]) : otherwise;
}

function withLine(label, value, text) {
  const line = `${label}: ${value}`;
  const pattern = new RegExp(`^${label}:.*$`, 'm');
  return pattern.test(text) ? text.replace(pattern, () => line) : `${text.replace(/\n?$/, '\n')}${line}\n`;
}

function replaceFile(target, text) {
  const temporary = `${target}.${process.pid}.tmp`;
  fs.writeFileSync(temporary, text);
  fs.renameSync(temporary, target);
}

function decide(features, iteration, limit) {
  const open = features.filter((feature) => feature.passes !== true);
  if (open.length === 0) {
    const systemMessage = `Ralph Loop COMPLETE! All ${features.length} features verified.`;
    return { status: 'COMPLETE', iteration, answer: { continue: true, systemMessage } };
  }
  if (iteration >= limit) {
    const systemMessage = `Ralph Loop reached max iterations (${limit}). ${open.length} features remain.`;
    return { status: 'REACHED_LIMIT', iteration, answer: { continue: true, systemMessage } };
  }
  const next = iteration + 1;
  const reason = `Ralph Loop iteration ${next}: Continue with Feature ${open[0].id} - ${open[0].description}. ` +
    'Review feature_list.json for steps, implement the feature, verify it works, set passes: true, ' +
    'commit, and update progress.txt.';
  return { status: 'IN_PROGRESS', iteration: next, answer: { decision: 'block', reason } };
}

function main() {
  const stop = JSON.parse(fs.readFileSync(0, 'utf8'));
  const loop = path.resolve(stop.cwd, process.env.RALPH_LOOP_DIR || '.claude/data/ralph-loops/current');
  const progressFile = path.join(loop, 'progress.txt');
  if (!fs.existsSync(progressFile)) return;
  const { features } = JSON.parse(fs.readFileSync(path.join(loop, 'feature_list.json'), 'utf8'));
  const progress = fs.readFileSync(progressFile, 'utf8');
  const { status, iteration, answer } = decide(
    features, numberAfter('Iteration', progress, 1), numberAfter('Max Iterations', progress, 15));
  replaceFile(progressFile, withLine('Iteration', iteration, withLine('Status', status, progress)));
  const said = lastMessage(stop.transcript_path).replace(/\n/g, ' ').slice(0, 120);
  fs.appendFileSync(path.join(loop, 'hook.log'),
    `[${new Date().toISOString()}] session ${stop.session_id}: ${status} at ${iteration}; last said: ${said}\n`);
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}

try {
  main();
} catch (error) {
  process.stderr.write(`stop hook: ${error.message}\n`); // exit 0: an unreadable loop never holds the session
}
