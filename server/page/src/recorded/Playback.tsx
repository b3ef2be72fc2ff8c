import { Pause, Play, SkipBack, StepBack, StepForward } from "lucide-react";
import { Button } from "../components/ui/button";
import { Select } from "../components/ui/field";
import { IconButton } from "../components/ui/icon-button";
import type { Playback } from "./use-playback";

const SPEEDS = [0.5, 1, 2, 4];

/** Controls that play a run and step through it. */
export function PlaybackBar({ at, count, playing, speed, setSpeed, toggle, seek, step }: Playback) {
  return (
    <div role="toolbar" aria-label="Playback" className="flex min-h-12 shrink-0 items-center gap-1 border-b px-3 py-1">
      <Button look="primary" size="small" className="me-1" onClick={toggle}>
        {playing ? <Pause className="size-4" aria-hidden /> : <Play className="size-4" aria-hidden />} {playing ? "Pause" : "Play"}
      </Button>
      <IconButton label="To the beginning" size="small icon" className="max-sm:hidden" disabled={at === 0} onClick={() => seek(0)}>
        <SkipBack />
      </IconButton>
      <IconButton label="Step back" size="small icon" disabled={at === 0} onClick={() => step(-1)}>
        <StepBack />
      </IconButton>
      <IconButton label="Step forward" size="small icon" disabled={at === count} onClick={() => step(1)}>
        <StepForward />
      </IconButton>
      <input
        type="range"
        aria-label="Position"
        aria-valuetext={`event ${at} of ${count}`}
        min={0}
        max={count}
        value={at}
        onChange={({ target }) => seek(Number(target.value))}
        className="mx-2 min-w-12 flex-1 rounded-full accent-primary outline-offset-4"
      />
      <span className="shrink-0 text-xs text-muted-foreground tabular-nums max-sm:hidden" data-position>
        {at} / {count}
      </span>
      <Select aria-label="Speed" className="ms-1 shrink-0" value={speed} onChange={({ target }) => setSpeed(Number(target.value))}>
        {SPEEDS.map((each) => (
          <option key={each} value={each}>
            {each}×
          </option>
        ))}
      </Select>
    </div>
  );
}
