package jiuwen

import "strings"

// A message is something that the commands say, in each language.
type message struct{ zh, en string }

// The Chinese texts are the original's.
var (
	msgBadLevel = message{`无效级别 "%s"，仅允许：allow、ask、deny`, `no level "%s": there are allow, ask and deny`}
	msgNoTool   = message{"工具名不能为空。", "A tool's name is missing."}
	msgBadTool  = message{`无效工具名 "%s"，格式：工具 或 工具(模式)`, `no tool is called "%s": write TOOL or TOOL(PATTERN)`}
	msgSet      = message{"已设置 permissions.tools.%s = %s", "set permissions.tools.%s = %s"}
	msgCreated  = message{"已创建规则 [%s]  tools: %s  pattern: %s  action: %s",
		"created rule [%s]  tools: %s  pattern: %s  action: %s"}
	msgUpdated = message{"已更新规则 [%s]  tools: %s  pattern: %s  action: %s",
		"updated rule [%s]  tools: %s  pattern: %s  action: %s"}
	msgSetFailed    = message{"设置工具权限失败：%v", "permissions.tools.update failed: %v"}
	msgCreateFailed = message{"创建规则失败：%v", "permissions.rules.create failed: %v"}
	msgUpdateFailed = message{"更新规则失败：%v", "permissions.rules.update failed: %v"}
	msgGetFailed    = message{"获取权限失败：%v", "permissions.tools.get or permissions.rules.get failed: %v"}
	msgTools        = message{"工具权限", "Tool Permissions"}
	msgRules        = message{"规则", "Rules"}
)

func (c *Command) text(m message) string {
	if strings.HasPrefix(strings.ToLower(c.Locale), "zh") {
		return m.zh
	}
	return m.en
}

// Locale returns the language that the environment asks for, such as "zh_CN".
func Locale(getenv func(string) string) string {
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		if v := getenv(name); v != "" {
			name, _, _ := strings.Cut(v, ".")
			return name
		}
	}
	return ""
}
