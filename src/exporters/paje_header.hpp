// What every trace in Paje's format begins with: its events and its types.
#pragma once

#include <string_view>

namespace vicinal::exporters {

// Numbers and fields of the events; what stands in a line follows the order of the fields.
inline constexpr std::string_view kPajeHeader = R"(%EventDef PajeDefineContainerType 0
% Alias string
% Type string
% Name string
%EndEventDef
%EventDef PajeDefineStateType 1
% Alias string
% Type string
% Name string
%EndEventDef
%EventDef PajeDefineVariableType 2
% Alias string
% Type string
% Name string
% Color color
%EndEventDef
%EventDef PajeDefineLinkType 3
% Alias string
% Type string
% StartContainerType string
% EndContainerType string
% Name string
%EndEventDef
%EventDef PajeDefineEventType 4
% Alias string
% Type string
% Name string
%EndEventDef
%EventDef PajeDefineEntityValue 5
% Alias string
% Type string
% Name string
% Color color
%EndEventDef
%EventDef PajeCreateContainer 6
% Time date
% Alias string
% Type string
% Container string
% Name string
%EndEventDef
%EventDef PajeDestroyContainer 7
% Time date
% Type string
% Name string
%EndEventDef
%EventDef PajeSetState 8
% Time date
% Type string
% Container string
% Value string
%EndEventDef
%EventDef PajeSetState 9
% Time date
% Type string
% Container string
% Value string
% Task int
% Title string
%EndEventDef
%EventDef PajeSetState 10
% Time date
% Type string
% Container string
% Value string
% Copy int
% Datum string
% Bytes int
%EndEventDef
%EventDef PajeSetVariable 11
% Time date
% Type string
% Container string
% Value double
%EndEventDef
%EventDef PajeStartLink 12
% Time date
% Type string
% Container string
% StartContainer string
% Value string
% Key string
%EndEventDef
%EventDef PajeEndLink 13
% Time date
% Type string
% Container string
% EndContainer string
% Value string
% Key string
%EndEventDef
%EventDef PajeNewEvent 14
% Time date
% Type string
% Container string
% Value string
%EndEventDef
0 CR 0 "Run"
0 CN CR "Memory node"
0 CW CN "Worker"
0 CL CR "Link"
0 CA CR "Thread"
1 ST CW "Task"
1 SC CL "Copy"
1 SR CA "Region"
2 VU CN "Bytes in use" "0.50 0.69 0.83"
2 VR CR "Ready tasks" "0.98 0.50 0.45"
3 LD CR CW CW "Dependency"
3 LO CR CL CW "Operand"
4 EM CR "Mark"
4 EV CN "Eviction"
5 idle ST "idle" "0.95 0.95 0.95"
5 unused SC "unused" "0.95 0.95 0.95"
5 outside SR "outside" "0.95 0.95 0.95"
5 after LD "after" "0.30 0.30 0.30"
5 reads LO "reads" "0.30 0.30 0.80"
)";

}  // namespace vicinal::exporters
