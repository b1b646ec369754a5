// Plays one scenario on Pi's low-level loop.

import { untilEnded } from "./clock.mjs";
import { ScenarioWorld } from "./scenario_world.mjs";
import { fullMessage } from "./trace.mjs";

/** Return the trace as JSON lines. Throws if the run never ends; what the run throws is part of the trace. */
export async function play(scenario, { loop, ai }) {
  const world = new ScenarioWorld(scenario, ai);
  const { trace, timers } = world;
  if (scenario.abort?.atTick !== undefined) timers.after(scenario.abort.atTick, () => trace.abortRun());
  if (scenario.abort?.atStart) trace.abortRun();
  const given = [world.context(), world.config(), (event) => trace.event(event), trace.signal, world.streamFunction()];
  const run =
    scenario.entry === "continue"
      ? loop.runAgentLoopContinue(...given)
      : loop.runAgentLoop((scenario.prompts ?? []).map(fullMessage), ...given);
  const told = run.then(
    (messages) => trace.result(messages),
    (error) => trace.throws(error),
  );
  await untilEnded(told, timers);
  return trace.lines;
}
